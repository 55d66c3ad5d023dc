// Runs a fuzz target without libFuzzer, so that g++ will do. Takes libFuzzer's words for what it shares with
// it:
//
//   TARGET [-max_total_time=SECONDS] [-runs=N] [-seed=N] [-max_len=BYTES] [-timeout=SECONDS]
//   [-artifact_prefix=PATH]
//          FILES_OR_FOLDERS
//
// Files alone: runs the target once on each. With folders: runs it on all that is in them, then on mutations
// of them until the time or the number of runs is over; -runs=0 stops after the first part. An input that
// reaches new code joins the pool, where the kernel was compiled with -fsanitize-coverage=trace-pc. One seed,
// one sequence of inputs. The input that ends the process is kept in PATH + "crash-" + its hash. Exit code:
// 0, or 1 where there was no input; a failure ends the process by its signal or the sanitizer's exit code.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifndef _WIN32
#include <unistd.h>
#endif

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// A target may bring its own mutation, as with libFuzzer, built on LLVMFuzzerMutate. Without one this is
// null.
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                                                unsigned int seed);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Bytes = std::vector<uint8_t>;

struct Options {
  double max_total_time = 0;  // Seconds; 0: no limit.
  long long runs = -1;        // -1: no limit.
  uint64_t seed = 1;
  size_t max_len = 4096;
  unsigned timeout = 20;  // Seconds for one input.
  std::string artifact_prefix = "./";
  std::vector<std::filesystem::path> files, folders;
};

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }

 private:
  uint64_t state_;
};

// --- Which code an input reaches.

constexpr size_t kEdges = size_t{1} << 16;
bool edges_hit[kEdges];
size_t edges_known;
uintptr_t last_block;

// --- The input that runs, for whoever has to report its end.

const uint8_t* running_data;
size_t running_size;
std::string artifact_prefix;

uint64_t Hash(const uint8_t* data, size_t size) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ data[i]) * 0x100000001b3u;
  return hash;
}

// Not async-signal-safe; the process is lost, and what is left to do is to save the input.
void KeepRunningInput() {
  if (running_data == nullptr) return;
  const uint8_t* const data = running_data;
  running_data = nullptr;
  char name[32];
  std::snprintf(name, sizeof(name), "crash-%016llx",
                static_cast<unsigned long long>(Hash(data, running_size)));
  const std::string path = artifact_prefix + name;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(running_size));
  std::fprintf(stderr, "the input of %zu bytes is in %s\n", running_size, path.c_str());
}

void OnSignal(int number) {
  std::signal(number, SIG_DFL);
  std::fprintf(stderr, "signal %d\n", number);
  KeepRunningInput();
  std::raise(number);
}

void WatchForTheEnd() {
  std::signal(SIGABRT, OnSignal);
#ifndef _WIN32
  std::signal(SIGALRM, OnSignal);
#endif
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(KeepRunningInput);
  } else {
    for (const int number : {SIGSEGV, SIGFPE, SIGILL}) std::signal(number, OnSignal);
  }
}

// Runs the target on a copy that ends where its memory ends. True where it reached new code.
bool RunOne(const Bytes& input, unsigned timeout) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[input.size()]);
  std::copy(input.begin(), input.end(), copy.get());
  running_data = copy.get();
  running_size = input.size();
  const size_t edges_before = edges_known;
#ifndef _WIN32
  alarm(timeout);
#endif
  last_block = 0;
  LLVMFuzzerTestOneInput(copy.get(), input.size());
#ifndef _WIN32
  alarm(0);
#endif
  running_data = nullptr;
  return edges_known > edges_before;
}

// --- Mutation

Random* mutation_random;  // For LLVMFuzzerMutate, whose signature has no place for it.

// Numbers at which parsers change their way.
constexpr uint64_t kEdgeNumbers[] = {0,          1,          7,          8,          0x7f,
                                     0x80,       0xff,       0x100,      0x7fff,     0x8000,
                                     0xffff,     0x10000,    0x7fffffff, 0x80000000, 0xffffffff,
                                     1ull << 32, 1ull << 48, 1ull << 63, UINT64_MAX, UINT64_MAX - 15};

void PutNumber(Bytes* input, uint64_t number, size_t width, Random* random) {
  if (input->size() < width) return;
  const size_t at = random->Below(input->size() - width + 1);
  for (size_t i = 0; i < width; ++i) (*input)[at + i] = static_cast<uint8_t>(number >> (8 * i));
}

std::ptrdiff_t Place(size_t at) { return static_cast<std::ptrdiff_t>(at); }

void InsertCopy(Bytes* input, const Bytes& from, Random* random) {
  if (from.empty()) return;
  const size_t start = random->Below(from.size());
  const size_t count = 1 + random->Below(from.size() - start);
  const Bytes part(from.begin() + Place(start), from.begin() + Place(start + count));
  input->insert(input->begin() + Place(random->Below(input->size() + 1)), part.begin(), part.end());
}

void EraseSome(Bytes* input, Random* random) {
  if (input->empty()) return;
  const size_t at = random->Below(input->size());
  const size_t count = 1 + random->Below(std::min<size_t>(input->size() - at, 1 + random->Below(64)));
  input->erase(input->begin() + Place(at), input->begin() + Place(at + count));
}

void MutateOnce(Bytes* input, const Bytes& other, Random* random) {
  switch (random->Below(8)) {
    case 0:
    case 1:
      if (!input->empty())
        (*input)[random->Below(input->size())] ^= static_cast<uint8_t>(1u << random->Below(8));
      break;
    case 2:
      PutNumber(input, random->Next(), 1, random);
      break;
    case 3:
      PutNumber(input, kEdgeNumbers[random->Below(std::size(kEdgeNumbers))], size_t{1} << random->Below(4),
                random);
      break;
    case 4:
      PutNumber(input, random->Below(input->size() + 1), size_t{1} << random->Below(4), random);
      break;
    case 5:
      EraseSome(input, random);
      break;
    case 6:
      InsertCopy(input, Bytes(*input), random);
      break;
    default:
      InsertCopy(input, other, random);
  }
}

void Mutate(Bytes* input, const Bytes& other, size_t max_size, Random* random) {
  for (size_t times = 1 + random->Below(4); times > 0; --times) MutateOnce(input, other, random);
  if (input->size() > max_size) input->resize(max_size);
}

Bytes NextInput(const std::vector<Bytes>& pool, size_t max_size, Random* random) {
  Bytes input = pool[random->Below(pool.size())];
  const Bytes& other = pool[random->Below(pool.size())];
  if (LLVMFuzzerCustomMutator == nullptr) {
    Mutate(&input, other, max_size, random);
    return input;
  }
  if (random->Below(4) == 0) InsertCopy(&input, other, random);  // A custom mutation sees one input only.
  const size_t size = std::min(input.size(), max_size);
  input.resize(max_size);
  input.resize(LLVMFuzzerCustomMutator(input.data(), size, max_size, static_cast<unsigned>(random->Next())));
  return input;
}

// --- The program

bool ReadOption(std::string_view argument, Options* options) {
  const size_t equals = argument.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = argument.substr(0, equals);
  const std::string value(argument.substr(equals + 1));
  if (name == "-max_total_time")
    options->max_total_time = std::stod(value);
  else if (name == "-runs")
    options->runs = std::stoll(value);
  else if (name == "-seed")
    options->seed = std::stoull(value);
  else if (name == "-max_len")
    options->max_len = std::stoull(value);
  else if (name == "-timeout")
    options->timeout = static_cast<unsigned>(std::stoul(value));
  else if (name == "-artifact_prefix")
    options->artifact_prefix = value;
  else
    return false;
  return true;
}

bool ReadOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') {
      if (ReadOption(argv[i], options)) continue;
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return false;
    }
    auto& paths = std::filesystem::is_directory(argv[i]) ? options->folders : options->files;
    paths.emplace_back(argv[i]);
  }
  return true;
}

// Everything in the folders and the files, in order of name.
std::vector<Bytes> ReadInputs(const Options& options) {
  std::vector<std::filesystem::path> paths = options.files;
  for (const auto& folder : options.folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
      std::fprintf(stderr, "cannot read %s\n", path.string().c_str());
    else
      inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

void Fuzz(const Options& options, std::vector<Bytes> pool) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const size_t kept = pool.size();
  const auto seconds = [start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Random random(options.seed);
  mutation_random = &random;
  long long runs = 0;
  while ((options.runs < 0 || runs < options.runs) &&
         (options.max_total_time == 0 || seconds() < options.max_total_time)) {
    Bytes input = NextInput(pool, options.max_len, &random);
    if (RunOne(input, options.timeout)) pool.push_back(std::move(input));
    ++runs;
  }
  std::printf("%lld mutated inputs in %.1f s, seed %llu, %zu reached new code\n", runs, seconds(),
              static_cast<unsigned long long>(options.seed), pool.size() - kept);
}

}  // namespace

// GCC calls this in every block of code compiled with -fsanitize-coverage=trace-pc.
extern "C" void __sanitizer_cov_trace_pc() {
  // Relative to the program, so that addresses that change from run to run do not change what is found.
  const auto block = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) -
                     reinterpret_cast<uintptr_t>(&LLVMFuzzerTestOneInput);
  edges_known += !std::exchange(edges_hit[(block ^ (last_block << 1)) % kEdges], true);
  last_block = block;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  Bytes input(data, data + size);
  Mutate(&input, Bytes(input), max_size, mutation_random);
  std::copy(input.begin(), input.end(), data);
  return input.size();
}

int main(int argc, char** argv) {
  Options options;
  if (!ReadOptions(argc, argv, &options)) return 2;
  artifact_prefix = options.artifact_prefix;
  WatchForTheEnd();
  std::vector<Bytes> inputs = ReadInputs(options);
  if (inputs.empty()) {
    std::fprintf(stderr, "no input: name files or folders\n");
    return 1;
  }
  for (const Bytes& input : inputs) RunOne(input, options.timeout);
  std::printf("%zu kept inputs ran\n", inputs.size());
  if (!options.folders.empty() && options.runs != 0) Fuzz(options, std::move(inputs));
  return 0;
}
