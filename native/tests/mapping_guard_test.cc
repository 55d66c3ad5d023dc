#include "mapping_guard.h"

#include "testing.h"

#ifdef _WIN32

namespace wellfed {
namespace {

TEST(NoMappingIsEverCutOnWindows) { EXPECT(!MappingWasCut(nullptr)); }

}  // namespace
}  // namespace wellfed

#else

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

namespace wellfed {
namespace {

const size_t kPage = static_cast<size_t>(getpagesize());

// A file of `pages` pages of 'x', mapped to be read.
class Mapped {
 public:
  explicit Mapped(size_t pages) : size_(pages * kPage) {
    char name[] = "/tmp/mapping_guard_test.XXXXXX";
    fd_ = mkstemp(name);
    unlink(name);
    const std::vector<char> content(size_, 'x');
    if (write(fd_, content.data(), size_) != static_cast<ssize_t>(size_)) abort();
    data_ = static_cast<const char*>(mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_, 0));
    if (data_ == MAP_FAILED) abort();
  }
  Mapped(const Mapped&) = delete;
  ~Mapped() {
    munmap(const_cast<char*>(data_), size_);
    close(fd_);
  }

  void CutTo(size_t size) {
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) abort();
  }
  char Read(size_t at) const { return *static_cast<const volatile char*>(data_ + at); }
  const char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  const size_t size_;
  int fd_;
  const char* data_;
};

// How a child process ended that ran `body`: its exit code, or minus the signal.
template <typename Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(MissingPagesOfAGuardedMappingAreZeros) {
  Mapped file(4);
  GuardMapping(file.data(), file.size());
  file.CutTo(kPage + 10);
  EXPECT(!MappingWasCut(file.data()));
  EXPECT_EQ(file.Read(2 * kPage), '\0');
  EXPECT_EQ(file.Read(4 * kPage - 1), '\0');
  EXPECT_EQ(file.Read(9), 'x');
  EXPECT_EQ(file.Read(kPage + 9), 'x');
  EXPECT(MappingWasCut(file.data()));
  UnguardMapping(file.data());
}

TEST(AMappingThatWasNotCutIsNotMarked) {
  const Mapped whole(2);
  Mapped cut(2);
  GuardMapping(whole.data(), whole.size());
  GuardMapping(cut.data(), cut.size());
  cut.CutTo(0);
  EXPECT_EQ(cut.Read(0), '\0');
  EXPECT(MappingWasCut(cut.data()));
  EXPECT(!MappingWasCut(whole.data()));
  UnguardMapping(whole.data());
  UnguardMapping(cut.data());
}

TEST(AGuardThatEndedForgetsTheCut) {
  Mapped file(1);
  GuardMapping(file.data(), file.size());
  file.CutTo(0);
  EXPECT_EQ(file.Read(0), '\0');
  UnguardMapping(file.data());
  EXPECT(!MappingWasCut(file.data()));
  GuardMapping(file.data(), file.size());
  EXPECT(!MappingWasCut(file.data()));
  UnguardMapping(file.data());
}

TEST(AMappingWithoutGuardStillEndsTheProcess) {
  const int ended = InChild([] {
    signal(SIGBUS, SIG_DFL);  // A sanitizer's handler would exit by itself.
    Mapped guarded(1), other(1);
    GuardMapping(guarded.data(), guarded.size());
    other.CutTo(0);
    other.Read(0);
  });
  EXPECT_EQ(ended, -SIGBUS);
}

TEST(AFaultOutsideGoesToTheHandlerBefore) {
  const int ended = InChild([] {
    signal(SIGBUS, [](int) { _exit(7); });
    Mapped guarded(1), other(1);
    GuardMapping(guarded.data(), guarded.size());
    other.CutTo(0);
    other.Read(0);
  });
  EXPECT_EQ(ended, 7);
}

TEST(AHandlerInstalledLaterGetsOnlyWhatIsOutside) {
  const int ended = InChild([] {
    Mapped first(1), second(1), other(1);
    GuardMapping(first.data(), first.size());
    signal(SIGBUS, [](int) { _exit(7); });
    GuardMapping(second.data(), second.size());
    first.CutTo(0);
    if (first.Read(0) != '\0') _exit(8);
    other.CutTo(0);
    other.Read(0);
  });
  EXPECT_EQ(ended, 7);
}

TEST(AHandlerThatRaisesTheSignalAgainEndsTheProcess) {
  const int ended = InChild([] {
    Mapped first(1), other(1);
    GuardMapping(first.data(), first.size());
    // What Python's faulthandler does: it puts back the handler it found, which is the guard's, and raises.
    static struct sigaction found;
    struct sigaction again = {};
    again.sa_handler = [](int number) {
      sigaction(number, &found, nullptr);
      raise(number);
    };
    again.sa_flags = SA_NODEFER;
    sigaction(SIGBUS, &again, &found);
    GuardMapping(other.data(), other.size());
    UnguardMapping(other.data());
    other.CutTo(0);
    other.Read(0);
  });
  EXPECT_EQ(ended, -SIGBUS);
}

TEST(MoreMappingsThanOneChunkAreGuardedFromManyThreads) {
  std::vector<std::vector<char> > places(4, std::vector<char>(1000));
  std::vector<std::thread> threads;
  for (auto& place : places) {
    threads.emplace_back([&place] {
      for (int round = 0; round < 3; ++round) {
        for (const char& byte : place) GuardMapping(&byte, 1);
        for (const char& byte : place) UnguardMapping(&byte);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Mapped file(1);
  GuardMapping(file.data(), file.size());
  file.CutTo(0);
  EXPECT_EQ(file.Read(0), '\0');
  UnguardMapping(file.data());
}

TEST(TwoThreadsMayMeetTheSameCut) {
  Mapped file(64);
  GuardMapping(file.data(), file.size());
  file.CutTo(kPage);
  std::vector<std::thread> threads;
  std::vector<int> sums(2, 0);
  for (int& sum : sums) {
    threads.emplace_back([&] {
      for (size_t page = 64; page-- > 1;) sum += file.Read(page * kPage);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, (std::vector<int>{0, 0}));
  EXPECT_EQ(file.Read(0), 'x');
  UnguardMapping(file.data());
}

}  // namespace
}  // namespace wellfed

#endif  // _WIN32
