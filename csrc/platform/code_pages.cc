#include "platform/code_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace dygraph {

void ForgetCodePages() {
  auto in_library = [](dl_phdr_info* library, size_t, void*) {
    const auto here = reinterpret_cast<uintptr_t>(&ForgetCodePages);
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    for (int i = 0; i < library->dlpi_phnum; ++i) {
      const auto& part = library->dlpi_phdr[i];
      const uintptr_t begin = library->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
      if (part.p_type != PT_LOAD || here < begin || here >= end) continue;
      const uintptr_t first = begin / page * page;
      // a failure costs memory and nothing else
      if (!(part.p_flags & PF_W))
        madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
      return 1;
    }
    return 0;
  };
  dl_iterate_phdr(in_library, nullptr);
}

}  // namespace dygraph
