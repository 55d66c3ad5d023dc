// Feature names to their numbers: exact, immutable, without allocation when asked.
#ifndef WELLFED_KEY_TABLE_H_
#define WELLFED_KEY_TABLE_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire.h"

namespace wellfed {

// REQUIRES: keys are unique. Thread-safe.
class KeyTable {
 public:
  explicit KeyTable(const std::vector<std::string>& keys) : slots_(std::bit_ceil(2 * keys.size() + 2), -1) {
    for (const std::string& key : keys) {
      // How a map entry with this key begins: tag and key, then the tag of the value.
      std::string prefix = {0x0a};
      uint8_t size[10];
      prefix.append(reinterpret_cast<const char*>(size), WriteVarint(key.size(), size) - size);
      key_at_.push_back(prefix.size());
      prefixes_.push_back(prefix + key + '\x12');
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      size_t slot = Hash(keys[i]);
      while (slots_[slot & (slots_.size() - 1)] >= 0) ++slot;
      slots_[slot & (slots_.size() - 1)] = static_cast<int32_t>(i);
    }
  }

  // The number of `key`, or -1.
  int32_t Find(std::string_view key) const {
    for (size_t slot = Hash(key);; ++slot) {
      const int32_t i = slots_[slot & (slots_.size() - 1)];  // Less than half is full: an empty slot comes.
      if (i < 0 || this->key(static_cast<size_t>(i)) == key) return i;
    }
  }

  std::string_view key(size_t i) const {
    return std::string_view(prefixes_[i]).substr(key_at_[i], prefixes_[i].size() - key_at_[i] - 1);
  }

  // `0a`, the key's length, the key, `12`.
  std::string_view prefix(size_t i) const { return prefixes_[i]; }

 private:
  static size_t Hash(std::string_view key) {
    uint64_t hash = key.size();
    for (size_t at = 0; at < key.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, key.data() + at, key.size() - at < 8 ? key.size() - at : 8);
      hash = std::rotl((hash ^ word) * 0x9e3779b97f4a7c15u, 32);
    }
    return static_cast<size_t>(hash ^ hash >> 32);
  }

  std::vector<int32_t> slots_;
  std::vector<std::string> prefixes_;
  std::vector<size_t> key_at_;
};

}  // namespace wellfed

#endif  // WELLFED_KEY_TABLE_H_
