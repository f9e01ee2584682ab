// nvprof's own files (`nvprof -o run.nvvp`): SQLite whose tables are CUPTI's activity records, a column for each field.
#pragma once

#include "traces/trace_format.hpp"

namespace distsim::traces {

bool sniff_nvprof(const TraceHead& head);

/// A rank for each GPU of the process. Ranges of NVTX (CUPTI's markers) become annotations, those of PyTorch's emit_nvtx
/// ops with shapes. The file has no names of runtime calls: a call is known by what it launched.
/// Errors: tables that are not nvprof's; no GPU activity.
/// Source: CUPTI documentation, "Activity Record Kinds" (CUpti_ActivityKernel4, CUpti_ActivityMarker2, ...).
ReadRanks read_nvprof;

inline constexpr TraceFormat kNvprofSqlite{
    .name = "nvprof SQLite",
    .extensions = {".nvvp", ".nvprof"},
    .sentence = "nvprof, `nvprof -o FILE.nvvp`",
    .sniff = sniff_nvprof,
    .read = read_nvprof,
};

/// The function in an Itanium-mangled name, with its scopes: "_ZN2at6native3fooIfEEvPT_i" -> "at::native::foo<IfEEvPT_i>";
/// arguments of templates and functions stay mangled, which keeps variants apart in bounded space. Other text as it is.
std::string kernel_name(std::string_view mangled);

}  // namespace distsim::traces
