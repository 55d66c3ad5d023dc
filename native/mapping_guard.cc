#include "mapping_guard.h"

#ifdef _WIN32

namespace wellfed {

void GuardMapping(const void*, size_t) {}
void UnguardMapping(const void*) {}
bool MappingWasCut(const void*) { return false; }

}  // namespace wellfed

#else

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>

namespace wellfed {
namespace {

// A signal handler has no argument but the fault, so what it needs is global. It may run inside any
// instruction of any thread: it takes no lock and no memory, and all it reads is atomic.
static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<void*>::is_always_lock_free);

// Free: begin == 0. Claimed: begin == kClaimed. Guarding: begin <= address < end.
struct Slot {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> cut{false};
};

constexpr uintptr_t kClaimed = 1;

// Chunks are never freed: the handler may be in one.
struct Chunk {
  Slot slots[256];
  std::atomic<Chunk*> next{nullptr};
};

constinit Chunk first_chunk;
constinit std::atomic<const struct sigaction*> previous{nullptr};  // Null: the default action.
constinit std::atomic<int> handlers_running{0};

template <typename Visit>
Slot* FindSlot(Visit matches) {
  for (Chunk* chunk = &first_chunk; chunk != nullptr; chunk = chunk->next.load(std::memory_order_acquire)) {
    for (Slot& slot : chunk->slots) {
      if (matches(slot)) return &slot;
    }
  }
  return nullptr;
}

Slot* FindMapping(const void* begin) {
  const auto address = reinterpret_cast<uintptr_t>(begin);
  return FindSlot([=](const Slot& slot) { return slot.begin.load() == address; });
}

bool Covers(const Slot& slot, uintptr_t address) {
  const uintptr_t end = slot.end.load();
  const uintptr_t begin = slot.begin.load();
  // The same end twice: what was read between belongs to it.
  return address >= begin && address < end && begin > kClaimed && slot.end.load() == end;
}

Slot* ClaimSlot() {
  const auto claim = [](Slot& slot) {
    uintptr_t free = 0;
    return slot.begin.load(std::memory_order_relaxed) == 0 &&
           slot.begin.compare_exchange_strong(free, kClaimed);
  };
  for (;;) {
    if (Slot* slot = FindSlot(claim)) return slot;
    auto* const added = new Chunk;
    Chunk* last = &first_chunk;
    for (Chunk* none = nullptr; !last->next.compare_exchange_strong(none, added); none = nullptr) last = none;
  }
}

// Puts zeros where the fault was, and over all that follows: it lies behind the file's end as well.
bool ReplaceByZeros(Slot* slot, uintptr_t address) {
  const auto page = static_cast<uintptr_t>(getpagesize());
  const uintptr_t from = address - address % page;
  const uintptr_t end = slot->end.load();
  slot->cut.store(true);  // First: another thread may read the zeros at once.
  return mmap(reinterpret_cast<void*>(from), end - from, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0) != MAP_FAILED;
}

void TakeDefaultAction(int signal_number, bool is_fault) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal_number, &action, nullptr);
  if (!is_fault) raise(signal_number);  // A fault comes back by itself: its instruction runs again.
}

void CallPrevious(int signal_number, siginfo_t* info, void* context) {
  const bool is_fault = info->si_code > 0;
  const struct sigaction* const action = previous.load(std::memory_order_acquire);
  const bool has_info = action != nullptr && (action->sa_flags & SA_SIGINFO) != 0;
  const bool is_default = action == nullptr || (!has_info && action->sa_handler == SIG_DFL);
  const bool is_ignore = !is_default && !has_info && action->sa_handler == SIG_IGN;
  if (is_ignore && !is_fault) return;
  // faulthandler raises the signal again to reach the handler before its own, which may be this one: without
  // the second condition the two would call each other for ever.
  if (is_default || is_ignore || (!is_fault && handlers_running.load() > 0)) {
    TakeDefaultAction(signal_number, is_fault);
    return;
  }
  handlers_running.fetch_add(1);
  if (has_info) {
    action->sa_sigaction(signal_number, info, context);
  } else {
    action->sa_handler(signal_number);
  }
  handlers_running.fetch_sub(1);
}

void HandleBusError(int signal_number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  Slot* slot = nullptr;
  if (info->si_code > 0) slot = FindSlot([=](const Slot& each) { return Covers(each, address); });
  if (slot == nullptr || !ReplaceByZeros(slot, address)) CallPrevious(signal_number, info, context);
  errno = saved_errno;
}

bool IsOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == HandleBusError;
}

void InstallHandler() {
  struct sigaction current = {};
  if (sigaction(SIGBUS, nullptr, &current) == 0 && IsOurs(current)) return;
  struct sigaction action = {};
  action.sa_sigaction = HandleBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  auto* const replaced = new struct sigaction;  // Kept: a handler may be reading the one before.
  if (sigaction(SIGBUS, &action, replaced) == 0 && !IsOurs(*replaced)) {
    previous.store(replaced, std::memory_order_release);
  } else {
    delete replaced;
  }
}

}  // namespace

void GuardMapping(const void* begin, size_t size) {
  if (size == 0) return;
  InstallHandler();
  Slot* const slot = ClaimSlot();
  const auto address = reinterpret_cast<uintptr_t>(begin);
  slot->cut.store(false);
  slot->begin.store(address);
  slot->end.store(address + size);
}

void UnguardMapping(const void* begin) {
  if (Slot* const slot = FindMapping(begin)) {
    slot->end.store(0);
    slot->begin.store(0);
  }
}

bool MappingWasCut(const void* begin) {
  const Slot* const slot = FindMapping(begin);
  return slot != nullptr && slot->cut.load();
}

}  // namespace wellfed

#endif  // _WIN32
