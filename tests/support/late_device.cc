// A device of PyTorch for tests, "late": its memory is this process's, its streams are queues, and nothing in
// a queue is done before it has to be. Who forgets to wait for a copy reads what was there before it; who
// lets memory go while work on it waits finds it used again. Both come each time, not once in a thousand
// runs.
//
// copy, non_blocking, from pinned memory --> | queue of the current stream | --done when--> a stream is
// synchronised,
//                                                                                           an event is
//                                                                                           waited for,
// freed memory --> list of the stream it was asked for on --> its next memory               or, with
// hurry(True), at once
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace {

constexpr auto kLate = c10::DeviceType::PrivateUse1;
constexpr int kDevices = 2;
constexpr int kStreams = 32;

struct Queue {
  std::deque<std::function<void()>> work;
  uint64_t asked = 0, done = 0;

  void reach(uint64_t ticket) {
    while (done < ticket) {
      auto first = std::move(work.front());
      work.pop_front();
      first();
      ++done;
    }
  }
};

struct Event {
  Queue* queue;
  uint64_t ticket;
};

struct Block {
  void* memory;
  size_t size;
  Queue* home;             // Of the stream that it was asked for on: that one's next memory once it is free.
  std::set<Queue*> users;  // Other streams whose work was recorded.
};

struct Freed {
  Block* block;
  std::vector<Event> first;  // What has to be done before it is used again.
};

// Tests use the device from one thread; all of this is that thread's.
std::array<std::array<Queue, kStreams>, kDevices> queues;
std::array<int, kDevices> streams_made{}, current_stream{};
std::vector<Freed> freed;
int current_device = 0;
bool others_hurry = false;
int64_t reserved = 0;

int index_of(c10::Device device) { return device.has_index() ? device.index() : current_device; }

Queue& queue_of(c10::Stream stream) { return queues.at(stream.device_index()).at(stream.id()); }

Queue& queue_of(int device) { return queues.at(device).at(current_stream.at(device)); }

void ask(Queue& queue, std::function<void()> work) {
  queue.work.push_back(std::move(work));
  ++queue.asked;
  const bool is_default = &queue == &queues[0][0] || &queue == &queues[1][0];
  if (others_hurry && !is_default) queue.reach(queue.asked);
}

c10::Stream stream_of(int device, int id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kLate, static_cast<c10::DeviceIndex>(device)), id);
}

// --- Memory: a stream's own comes back to it at once, as a caching allocator's does
// ------------------------------

void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  std::vector<Event> first;
  for (Queue* user : block->users) first.push_back({user, user->asked});
  block->users.clear();
  freed.push_back({block, std::move(first)});
}

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t size) override {
    const c10::Device device(kLate, static_cast<c10::DeviceIndex>(current_device));
    if (size == 0) return {nullptr, device};
    Queue* home = &queue_of(current_device);
    auto fits = [&](const Freed& each) {
      return each.block->home == home && each.block->size == size &&
             std::ranges::all_of(each.first,
                                 [](const Event& event) { return event.queue->done >= event.ticket; });
    };
    auto found = std::ranges::find_if(freed, fits);
    Block* block = nullptr;
    if (found != freed.end()) {
      block = found->block;
      freed.erase(found);
    } else {
      block = new Block{::operator new(size), size, home, {}};  // Kept until the process ends.
      reserved += static_cast<int64_t>(size);
    }
    return {block->memory, block, free_block, device};
  }
  void copy_data(void* to, const void* from, size_t size) const override {
    default_copy_data(to, from, size);
  }
};

// DataLoader pins from a thread of its own.
std::mutex pinned_lock;
std::map<const char*, size_t> pinned;

void free_pinned(void* memory) {
  const std::lock_guard lock(pinned_lock);
  pinned.erase(static_cast<const char*>(memory));
  ::operator delete(memory);
}

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t size) override {
    auto* memory = static_cast<char*>(::operator new(size + 1));
    const std::lock_guard lock(pinned_lock);
    pinned[memory] = size + 1;
    return {memory, memory, free_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* to, const void* from, size_t size) const override {
    default_copy_data(to, from, size);
  }
};

Allocator allocator;
PinnedAllocator pinned_allocator;
REGISTER_ALLOCATOR(kLate, &allocator)

// --- What torch asks of a device
// -----------------------------------------------------------------------------------

struct Guard final : c10::impl::DeviceGuardImplInterface {
  Guard() = default;
  explicit Guard(c10::DeviceType) {}
  c10::DeviceType type() const override { return kLate; }
  c10::Device getDevice() const override { return {kLate, static_cast<c10::DeviceIndex>(current_device)}; }
  void setDevice(c10::Device device) const override { current_device = index_of(device); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current_device = index_of(device); }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }

  c10::Stream getStream(c10::Device device) const override {
    return stream_of(index_of(device), current_stream.at(index_of(device)));
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream_of(index_of(device), 0); }
  c10::Stream getNewStream(c10::Device device, int) const override {
    int& made = streams_made.at(index_of(device));
    made = made % (kStreams - 1) + 1;
    return stream_of(index_of(device), made);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = getStream(stream.device());
    current_stream.at(stream.device_index()) = static_cast<int>(stream.id());
    return before;
  }
  bool queryStream(const c10::Stream& stream) const override { return queue_of(stream).work.empty(); }
  void synchronizeStream(const c10::Stream& stream) const override {
    queue_of(stream).reach(queue_of(stream).asked);
  }
  void synchronizeDevice(c10::DeviceIndex device) const override {
    for (Queue& queue : queues.at(device)) queue.reach(queue.asked);
  }

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) *event = new Event;
    *static_cast<Event*>(*event) = {&queue_of(stream), queue_of(stream).asked};
  }
  void block(void* event, const c10::Stream& stream) const override {
    ask(queue_of(stream), [due = *static_cast<Event*>(event)] { due.queue->reach(due.ticket); });
  }
  bool queryEvent(void* event) const override {
    const auto* due = static_cast<Event*>(event);
    return due->queue->done >= due->ticket;
  }
  void synchronizeEvent(void* event) const override {
    const auto* due = static_cast<Event*>(event);
    due->queue->reach(due->ticket);
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return kDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return static_cast<c10::DeviceIndex>(current_device); }
  void setCurrentDevice(c10::DeviceIndex device) const override { current_device = device; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return static_cast<c10::DeviceIndex>(std::exchange(current_device, device));
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 ? getCurrentDevice() : exchangeDevice(device);
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator; }
  bool isPinnedPtr(const void* data) const override {
    const auto* byte = static_cast<const char*>(data);
    const std::lock_guard lock(pinned_lock);
    auto after = pinned.upper_bound(byte);
    if (after == pinned.begin()) return false;
    --after;
    return byte < after->first + after->second;
  }
};
const bool hooked = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

// --- What it can do: keep tensors and copy them; the rest is done on the CPU, by way of copies
// ----------------------

at::Tensor empty(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
                 std::optional<c10::Device> device, std::optional<bool>,
                 std::optional<c10::MemoryFormat> format) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_generic(size, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<c10::ScalarType> dtype,
                         std::optional<c10::Layout>, std::optional<c10::Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_strided_generic(size, stride, &allocator,
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(dtype));
}

at::Tensor view_of(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride,
                   std::optional<int64_t> offset) {
  auto view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(self.storage()),
                                                       self.key_set(), self.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride, offset.value_or(self.storage_offset()));
  return view;
}

at::Tensor view(const at::Tensor& self, c10::IntArrayRef size) {
  const auto whole = at::infer_size_dv(size, self.numel());
  const auto strides = at::detail::computeStride(self.sizes(), self.strides(), whole);
  TORCH_CHECK(strides.has_value(), "view: the strides do not allow it");
  return view_of(self, whole, *strides, self.storage_offset());
}

at::Tensor on_cpu(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return tensor;
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                       tensor.options().device(at::kCPU));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  const at::Tensor& there = to.is_cpu() ? from : to;
  Queue& queue = queue_of(index_of(there.device()));
  // A tensor of pinned memory is kept until it is copied. Memory of the device is not kept: it is the
  // stream's.
  ask(queue, [source = on_cpu(from), target = on_cpu(to)] { target.copy_(source); });
  const bool waits = to.is_cpu() || (from.is_cpu() && !(non_blocking && from.is_pinned()));
  if (waits) queue.reach(queue.asked);
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (from.sizes() == to.sizes()) return copy_from(from, to, false);
  const at::Tensor fresh = at::empty_strided(from.sizes(), from.strides(), to.options());
  copy_from(from, fresh, false);
  to.unsafeGetTensorImpl()->set_storage_keep_dtype(fresh.storage());
  to.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides());
  return to;
}

void record_stream(at::Tensor& self, c10::Stream stream) {
  auto* block = static_cast<Block*>(self.storage().data_ptr().get_context());
  if (block != nullptr && block->home != &queue_of(stream)) block->users.insert(&queue_of(stream));
}

c10::Scalar item(const at::Tensor& self) { return self.to(at::kCPU).item(); }

void on_the_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
  m.impl("as_strided", view_of);
  m.impl("view", view);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("record_stream", record_stream);
  m.impl("_local_scalar_dense", item);
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>());
}

// With hurry(true), work of streams other than the default ones is done at once; theirs still waits.
void hurry(bool others) { others_hurry = others; }

// Bytes ever taken; freed memory that is used again counts once.
int64_t memory_reserved() { return reserved; }

// Pieces of work asked for and not done, in the streams other than the default ones.
int64_t waiting() {
  int64_t count = 0;
  for (const auto& device : queues)
    for (size_t n = 1; n < device.size(); ++n) count += static_cast<int64_t>(device[n].work.size());
  return count;
}

TORCH_LIBRARY(late, m) {
  m.def("waiting", waiting);
  m.def("hurry", hurry);
  m.def("memory_reserved", memory_reserved);
}

}  // namespace
