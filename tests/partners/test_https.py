"""Reading through https: a server on loopback whose certificate this test made."""

import datetime
import http.server
import ipaddress
import math
import ssl
import threading

import fsspec
import pytest

import wellfed as wf
from wellfed.errors import RemoteError

pytestmark = pytest.mark.s3
aiohttp = pytest.importorskip("aiohttp")
x509 = pytest.importorskip("cryptography.x509")

PAYLOADS = [b"%d" % i * (i % 900) for i in range(2000)]
RANGE = 1 << 18


def make_certificate(folder):
    """Writes a certificate for 127.0.0.1 that signs itself, and its key; gives its path."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "wellfed test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path = folder / "server.pem"
    path.write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()) + certificate.public_bytes(pem))
    return path


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, with ranges."""

    def do_GET(self):
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        content = self.server.content
        if asked is None or self.path != "/x.tfrecord":
            self.send_error(404)
            return
        first, last = asked.removeprefix("bytes=").split("-")
        piece = content[int(first) : int(last) + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(piece)))
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.end_headers()
        self.wfile.write(piece)

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path):
    """A server of one shard, its URL, and its certificate."""
    with wf.TFRecordWriter(tmp_path / "x.tfrecord") as writer:
        writer.write_many(PAYLOADS)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.certificate = make_certificate(tmp_path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(running.certificate)
        running.socket = context.wrap_socket(running.socket, server_side=True)
        running.daemon_threads = True
        running.handle_error = lambda *_: None  # Whoever does not trust the certificate hangs up.
        running.content, running.asked = (tmp_path / "x.tfrecord").read_bytes(), []
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        running.url = f"https://127.0.0.1:{running.server_address[1]}/x.tfrecord"
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def trusted(server, monkeypatch):
    """Has fsspec's configuration, as a user's file would, trust the server."""
    context = ssl.create_default_context(cafile=server.certificate)

    async def client(**options):
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context), **options)

    monkeypatch.setitem(fsspec.config.conf, "https", {"get_client": client})


@pytest.mark.usefixtures("trusted")
def test_a_pass_over_https_asks_for_each_range_once(server):
    reader = wf.TFRecordReader(server.url, remote=wf.RemoteOptions(range_bytes=RANGE))

    assert list(reader) == PAYLOADS
    assert len([asked for asked in server.asked if asked]) == math.ceil(len(server.content) / RANGE)


@pytest.mark.usefixtures("trusted")
def test_rows_by_number_come_over_https(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    assert wf.Records(server.url)[1234] == PAYLOADS[1234]


def test_a_certificate_that_nobody_vouches_for_is_an_error_that_says_so(server):
    with pytest.raises(
        RemoteError, match=rf"{server.url}: its size could not be read .*(?i:certificate verify failed)"
    ):
        list(wf.TFRecordReader(server.url, remote=wf.RemoteOptions(attempts=2, pause_seconds=0)))
