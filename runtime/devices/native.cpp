// Replays captured kernels without Python: a list of operators with their arguments, launched in order.
//
// Built once for each version of torch by native.py and loaded with ctypes. `segment_add` is called with
// the interpreter's lock held; `segment_replay` without it, for a whole segment at once.
//
// The list holds a reference of its own to every tensor. That is not only safe: a tensor that Python also
// knows takes the interpreter's lock whenever its C++ count goes from one to two or back, so a list that
// only borrowed tensors would wait for the lock inside its loop.

#include <Python.h>
#include <pybind11/pytypes.h>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>

#include <cstdio>
#include <vector>

namespace torch::jit {
// Exported by libtorch_python. Its own header takes longer to read than all of this takes to compile.
c10::IValue toIValue(pybind11::handle object, const c10::TypePtr& type, std::optional<int32_t> count);
}  // namespace torch::jit

namespace {

struct Step {
  c10::OperatorHandle kernel;
  std::vector<c10::IValue> arguments;
  std::vector<c10::IValue> into;  // where each result is copied, of a kernel that cannot write there itself
};

struct Segment {
  std::vector<Step> steps;
  c10::OperatorHandle copy =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", "");
};

// A Python number where a kernel takes a tensor: one that gives way to the other argument's type.
c10::IValue wrapped_number(PyObject* value) {
  const auto type = PyBool_Check(value)    ? c10::ScalarType::Bool
                    : PyLong_Check(value)  ? c10::ScalarType::Long
                                           : c10::ScalarType::Double;
  static const auto make = c10::Dispatcher::singleton().findSchemaOrThrow("aten::scalar_tensor", "");
  auto scalar = torch::jit::toIValue(value, c10::NumberType::get(), std::nullopt);
  torch::jit::Stack stack{scalar, static_cast<int64_t>(type), c10::IValue(), c10::IValue(), c10::IValue()};
  make.callBoxed(stack);
  stack[0].toTensor().unsafeGetTensorImpl()->set_wrapped_number(true);
  return stack[0];
}

c10::IValue argument_of(PyObject* value, const c10::Argument& argument) {
  const bool number = PyFloat_Check(value) || PyLong_Check(value);  // a bool is a long
  if (number && argument.type()->kind() == c10::TypeKind::TensorType) return wrapped_number(value);
  return torch::jit::toIValue(value, argument.type(), argument.N());
}

// The tensors among results, in order.
void gather(const c10::IValue& value, std::vector<at::Tensor>& found) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) found.push_back(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) gather(item, found);
  }
}

int failed(char* message, size_t size, size_t step, const char* what) {
  snprintf(message, size, "kernel %zu: %s", step, what);
  return 1;
}

void copy_results(const Segment& segment, const Step& step, const torch::jit::Stack& stack) {
  std::vector<at::Tensor> results;
  for (const auto& value : stack) gather(value, results);
  TORCH_CHECK(results.size() == step.into.size(), "another number of results than when captured");
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& into = step.into[i].toTensor();
    if (!into.defined()) continue;
    TORCH_CHECK(into.sizes() == results[i].sizes(), "the size of what it gives depends on data");
    torch::jit::Stack copied{into, results[i], false};
    segment.copy.callBoxed(copied);
  }
}

}  // namespace

extern "C" {

void* segment_new() { return new Segment; }

void segment_free(void* segment) { delete static_cast<Segment*>(segment); }

// `arguments` is a tuple in the order of the operator's schema, `into` a tuple of tensors and None.
int segment_add(void* handle, const char* name, const char* overload, PyObject* arguments,
                PyObject* into, char* message, size_t size) {
  auto* segment = static_cast<Segment*>(handle);
  try {
    auto kernel = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
    Step step{kernel, {}, {}};
    const auto& schema = kernel.schema().arguments();
    for (size_t i = 0; i < schema.size(); ++i) {
      auto* value = PyTuple_GetItem(arguments, static_cast<Py_ssize_t>(i));
      step.arguments.push_back(argument_of(value, schema[i]));
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(into); ++i) {
      step.into.push_back(
          torch::jit::toIValue(PyTuple_GetItem(into, i), c10::TensorType::get(), std::nullopt));
    }
    segment->steps.push_back(std::move(step));
    return 0;
  } catch (const std::exception& error) {
    return failed(message, size, segment->steps.size(), error.what());
  }
}

int segment_replay(void* handle, char* message, size_t size) {
  auto* segment = static_cast<Segment*>(handle);
  c10::InferenceMode mode;
  torch::jit::Stack stack;
  size_t number = 0;
  try {
    for (const auto& step : segment->steps) {
      stack.assign(step.arguments.begin(), step.arguments.end());
      step.kernel.callBoxed(stack);
      if (!step.into.empty()) copy_results(*segment, step, stack);
      ++number;
    }
    return 0;
  } catch (const std::exception& error) {
    return failed(message, size, number, error.what());
  }
}

}  // extern "C"
