/* A fake of Ascend's driver, over the memory of the host, to be loaded under the real torch_npu.

   It has one device on which everything takes no time. What torch_npu asks of it that matters for order
   is written into a log, with numbers instead of addresses: streams s1.., events e1.., graphs g1.., groups
   of tasks t1.., words to wait for w1... What it refuses, it refuses with the code that the real one
   documents, and the line ends in that code. Kernels do nothing but fill and copy; a graph that is executed
   not even that. */

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "acl/error_codes/rt_error_codes.h"

#define MOST_STREAMS 4096
#define SOC "Ascend910_9392"
#define MEMORY (64ull << 30)

/* The log. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *text;
static size_t used, room;

static void say(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (room - used < 1024)
        text = realloc(text, room = room * 2 + 4096);
    used += (size_t)vsnprintf(text + used, 1024, format, values);
    va_end(values);
}

static aclError end(aclError code)
{
    if (code != ACL_SUCCESS)
        say(" -> %d", code);
    say("\n");
    pthread_mutex_unlock(&lock);
    return code;
}

/* Opens a line; `end` closes it. In between no other thread is in the driver. */
#define BEGIN(...) (pthread_mutex_lock(&lock), say(__VA_ARGS__))

const char *fake_log(void) { return text ? text : ""; }

/* Begins another log. */
void fake_clear(void)
{
    pthread_mutex_lock(&lock);
    used = 0;
    say("fake driver, no NPU");
    end(ACL_SUCCESS);
}

/* What those who drive it say themselves, to find it again between what torch_npu asks. */
void fake_say(const char *line)
{
    BEGIN("%.900s", line);
    end(ACL_SUCCESS);
}

void fake_stub(const char *name)
{
    BEGIN("stub %s", name);
    end(ACL_SUCCESS);
}

/* Streams, and what is being captured on them. */

typedef struct Graph Graph;

typedef struct {
    int number;
    Graph *capture;    /* that it is part of now */
    int in_group, updating;
} Stream;

typedef struct {
    int number;
    Graph *capture; /* in which it was recorded last */
    int *clock;     /* of every stream, how much of it is over at the record */
} Event;

struct Graph {
    int number, open, streams;
    Stream *origin;
    Graph *outer;
    aclmdlRICaptureMode mode;
    pthread_t thread;
    int *clock[MOST_STREAMS]; /* of a stream of it, how much of every other is over */
};

static Stream *streams[MOST_STREAMS];
static int made, events, graphs, groups;
static int alive, most = 1984; /* streams there are, those in graphs among them, and there may be */
static Graph *capturing;

/* Allows so many streams from here on; says how many there could be before. */
int fake_most_streams(int count)
{
    int before = most;
    most = count;
    return before;
}

int fake_streams(void) { return alive; }

/* The number of a stream. */
int fake_stream(void *stream) { return stream ? ((Stream *)stream)->number : 0; }

static const char *of(Stream *stream)
{
    static __thread char name[2][16];
    static __thread int turn;
    turn = !turn;
    snprintf(name[turn], sizeof name[turn], stream ? "s%d" : "s0", stream ? stream->number : 0);
    return name[turn];
}

static int *clock_of(Graph *graph, Stream *stream)
{
    if (!graph->clock[stream->number])
        graph->clock[stream->number] = calloc(MOST_STREAMS, sizeof(int));
    return graph->clock[stream->number];
}

static void merge(int *into, const int *from)
{
    for (int number = 0; number < MOST_STREAMS; number++)
        if (from[number] > into[number])
            into[number] = from[number];
}

/* Something is put on a stream: the answer if it may not be. */
static aclError put(Stream *stream)
{
    if (!stream)
        return capturing ? ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT : ACL_SUCCESS;
    if (stream->capture)
        clock_of(stream->capture, stream)[stream->number]++;
    return ACL_SUCCESS;
}

/* Whether what waits on the host, or works behind its back, is barred by a capture. */
static int barred(void)
{
    if (!capturing || capturing->mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED)
        return 0;
    return capturing->mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || pthread_equal(capturing->thread, pthread_self());
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
    BEGIN("stream s%d priority=%u", made + 1, priority);
    if (alive >= most || made + 1 >= MOST_STREAMS)
        return end(ACL_ERROR_RT_NO_STREAM_RESOURCE);
    Stream *one = calloc(1, sizeof *one);
    one->number = ++made;
    alive++;
    *stream = streams[one->number] = one;
    return end(ACL_SUCCESS);
}

aclError aclrtCreateStream(aclrtStream *stream) { return aclrtCreateStreamWithConfig(stream, 0, 0); }

aclError aclrtDestroyStream(aclrtStream stream)
{
    BEGIN("drop %s", of(stream));
    alive--;
    return end(ACL_SUCCESS);
}

aclError aclrtDestroyStreamForce(aclrtStream stream) { return aclrtDestroyStream(stream); }

aclError aclrtStreamGetId(aclrtStream stream, int32_t *number)
{
    *number = stream ? ((Stream *)stream)->number : 0;
    return ACL_SUCCESS;
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status)
{
    *status = ACL_STREAM_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeStream(aclrtStream stream)
{
    BEGIN("finish %s", of(stream));
    return end(stream && ((Stream *)stream)->capture ? ACL_ERROR_RT_STREAM_CAPTURED : ACL_SUCCESS);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout)
{
    return aclrtSynchronizeStream(stream);
}

aclError aclrtSynchronizeDevice(void)
{
    BEGIN("finish all");
    return end(barred() ? ACL_ERROR_RT_STREAM_CAPTURED : ACL_SUCCESS);
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) { return aclrtSynchronizeDevice(); }

/* Events. */

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag)
{
    BEGIN("event e%d flag=%u", events + 1, flag);
    Event *one = calloc(1, sizeof *one);
    one->number = ++events;
    *event = one;
    return end(ACL_SUCCESS);
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag)
{
    return aclrtCreateEventExWithFlag(event, flag);
}

aclError aclrtDestroyEvent(aclrtEvent event)
{
    free(((Event *)event)->clock);
    free(event);
    return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream)
{
    Event *one = event;
    Stream *on = stream;
    BEGIN("record e%d %s", one->number, of(on));
    if (!on && capturing)
        return end(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
    one->capture = on ? on->capture : NULL;
    if (one->capture) {
        if (!one->clock)
            one->clock = malloc(MOST_STREAMS * sizeof(int));
        memcpy(one->clock, clock_of(one->capture, on), MOST_STREAMS * sizeof(int));
    }
    return end(ACL_SUCCESS);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
    Event *one = event;
    Stream *on = stream;
    BEGIN("wait %s e%d", of(on), one->number);
    Graph *theirs = one->capture, *mine = on ? on->capture : NULL;
    if (!theirs)
        return end(mine ? ACL_ERROR_RT_CAPTURE_DEPENDENCY : on ? ACL_SUCCESS : put(on));
    if (!theirs->open)
        return end(ACL_ERROR_RT_EVENT_CAPTURED);
    if (mine && mine != theirs)
        return end(ACL_ERROR_STREAM_CAPTURE_CONFLICT);
    if (!on)
        return end(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
    if (!mine) {
        if (alive >= most)
            return end(ACL_ERROR_RT_NO_STREAM_RESOURCE);
        on->capture = theirs;
        theirs->streams++;
        alive++;
    }
    merge(clock_of(theirs, on), one->clock);
    return end(on == theirs->origin ? ACL_SUCCESS : put(on));
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream)
{
    BEGIN("reset e%d %s", ((Event *)event)->number, of(stream));
    return end(ACL_SUCCESS);
}

aclError aclrtSynchronizeEvent(aclrtEvent event)
{
    Event *one = event;
    BEGIN("block e%d", one->number);
    return end(one->capture ? ACL_ERROR_RT_EVENT_CAPTURED : ACL_SUCCESS);
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status)
{
    *status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status)
{
    *status = ACL_EVENT_WAIT_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent start, aclrtEvent end)
{
    *ms = 0;
    return ACL_SUCCESS;
}

/* Words in memory that streams write and wait for. */

static void *words[4096];

static int word_of(void *address)
{
    int number = 0;
    while (number < 4095 && words[number] && words[number] != address)
        number++;
    words[number] = address;
    return number + 1;
}

aclError aclrtValueWait(void *address, uint64_t value, uint32_t flag, aclrtStream stream)
{
    BEGIN("value_wait %s w%d %llu", of(stream), word_of(address), (unsigned long long)value);
    return end(put(stream));
}

aclError aclrtValueWrite(void *address, uint64_t value, uint32_t flag, aclrtStream stream)
{
    BEGIN("value_write %s w%d %llu", of(stream), word_of(address), (unsigned long long)value);
    return end(put(stream));
}

/* Captures. */

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode)
{
    Stream *on = stream;
    static const char *const modes[] = {"global", "thread_local", "relaxed"};
    BEGIN("capture %s %s", of(on), (unsigned)mode < 3 ? modes[mode] : "unknown");
    if (!on)
        return end(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
    if (on->capture)
        return end(ACL_ERROR_RT_STREAM_CAPTURED);
    if (alive >= most)
        return end(ACL_ERROR_RT_NO_STREAM_RESOURCE);
    Graph *graph = calloc(1, sizeof *graph);
    graph->number = ++graphs;
    graph->open = graph->streams = 1;
    graph->origin = on;
    graph->mode = mode;
    graph->thread = pthread_self();
    graph->outer = capturing;
    on->capture = capturing = graph;
    alive++;
    return end(ACL_SUCCESS);
}

static void drop(Graph *graph)
{
    alive -= graph->streams;
    graph->streams = 0;
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *model)
{
    Stream *on = stream;
    BEGIN("captured %s", of(on));
    Graph *graph = on ? on->capture : NULL;
    if (!graph)
        return end(ACL_ERROR_RT_STREAM_NOT_CAPTURED);
    say(" g%d", graph->number);
    if (graph->origin != on)
        return end(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED);
    aclError code = ACL_SUCCESS;
    if (graph->mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED && !pthread_equal(graph->thread, pthread_self()))
        return end(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD);
    int *joined = clock_of(graph, on);
    for (int number = 1; number <= made; number++) {
        if (streams[number]->capture != graph)
            continue;
        if (streams[number] != on && clock_of(graph, streams[number])[number] > joined[number])
            code = ACL_ERROR_RT_STREAM_UNJOINED;
        streams[number]->capture = NULL;
    }
    for (int number = 0; number < MOST_STREAMS; number++)
        free(graph->clock[number]);
    memset(graph->clock, 0, sizeof graph->clock);
    graph->open = 0;
    capturing = graph->outer;
    *model = code == ACL_SUCCESS ? graph : NULL;
    if (code != ACL_SUCCESS)
        drop(graph);
    return end(code);
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *model)
{
    Graph *graph = stream ? ((Stream *)stream)->capture : NULL;
    *status = graph ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    if (model)
        *model = graph;
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode) { return ACL_SUCCESS; }

aclError aclmdlRIExecuteAsync(aclmdlRI model, aclrtStream stream)
{
    BEGIN("execute %s g%d", of(stream), ((Graph *)model)->number);
    if (stream && ((Stream *)stream)->capture)
        return end(ACL_ERROR_RT_STREAM_CAPTURED);
    return end(put(stream));
}

aclError aclmdlRIDestroy(aclmdlRI model)
{
    BEGIN("drop g%d", ((Graph *)model)->number);
    drop(model);
    return end(ACL_SUCCESS);
}

aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream)
{
    Stream *on = stream;
    BEGIN("tasks %s", of(on));
    if (!on || !on->capture)
        return end(ACL_ERROR_RT_STREAM_NOT_CAPTURED);
    if (on->in_group)
        return end(ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    on->in_group = 1;
    return end(ACL_SUCCESS);
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle)
{
    Stream *on = stream;
    BEGIN("tasked %s", of(on));
    if (!on || !on->in_group)
        return end(ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    on->in_group = 0;
    *handle = (aclrtTaskGrp)(intptr_t)++groups;
    say(" t%d", groups);
    return end(ACL_SUCCESS);
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle)
{
    Stream *on = stream;
    BEGIN("update %s t%d", of(on), (int)(intptr_t)handle);
    if (on && on->capture)
        return end(ACL_ERROR_RT_STREAM_CAPTURED);
    if (!on || on->updating)
        return end(ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    on->updating = 1;
    return end(ACL_SUCCESS);
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream)
{
    Stream *on = stream;
    BEGIN("updated %s", of(on));
    if (!on || !on->updating)
        return end(ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    on->updating = 0;
    return end(ACL_SUCCESS);
}

/* Memory. Pinned host memory is known by its bounds. */

static struct {
    char *from, *to;
} pinned[4096];
static int pins;

static int is_pinned(const void *address)
{
    for (int one = 0; one < pins; one++)
        if ((const char *)address >= pinned[one].from && (const char *)address < pinned[one].to)
            return 1;
    return 0;
}

aclError aclrtMalloc(void **address, size_t size, aclrtMemMallocPolicy policy)
{
    BEGIN("memory %zu", size);
    *address = aligned_alloc(512, (size + 511) / 512 * 512);
    return end(*address ? ACL_SUCCESS : ACL_ERROR_RT_MEMORY_ALLOCATION);
}

aclError aclrtMallocAlign32(void **address, size_t size, aclrtMemMallocPolicy policy)
{
    return aclrtMalloc(address, size, policy);
}

aclError aclrtFree(void *address)
{
    free(address);
    return ACL_SUCCESS;
}

aclError aclrtMallocHost(void **address, size_t size)
{
    BEGIN("pinned %zu", size);
    size = (size + 511) / 512 * 512;
    *address = aligned_alloc(512, size);
    if (pins < 4096) {
        pinned[pins].from = *address;
        pinned[pins++].to = (char *)*address + size;
    }
    return end(*address ? ACL_SUCCESS : ACL_ERROR_RT_MEMORY_ALLOCATION);
}

aclError aclrtMallocHostWithCfg(void **address, uint64_t size, aclrtMallocConfig *config)
{
    return aclrtMallocHost(address, size);
}

aclError aclrtFreeHost(void *address)
{
    pthread_mutex_lock(&lock);
    for (int one = 0; one < pins; one++)
        if (pinned[one].from == address)
            pinned[one] = pinned[--pins];
    pthread_mutex_unlock(&lock);
    free(address);
    return ACL_SUCCESS;
}

aclError aclrtPointerGetAttributes(const void *address, aclrtPtrAttributes *attributes)
{
    memset(attributes, 0, sizeof *attributes);
    pthread_mutex_lock(&lock);
    attributes->location.type = is_pinned(address) ? ACL_MEM_LOCATION_TYPE_HOST : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

aclError aclrtMemcpy(void *to, size_t most_bytes, const void *from, size_t size, aclrtMemcpyKind kind)
{
    BEGIN("copy_now %p %p %zu", to, from, size);
    if (barred())
        return end(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    memmove(to, from, size);
    return end(ACL_SUCCESS);
}

aclError aclrtMemcpyAsync(void *to, size_t most_bytes, const void *from, size_t size, aclrtMemcpyKind kind,
                          aclrtStream stream)
{
    Stream *on = stream;
    BEGIN("copy %s %p %p %zu", of(on), to, from, size);
    const void *host = kind == ACL_MEMCPY_HOST_TO_DEVICE ? from : kind == ACL_MEMCPY_DEVICE_TO_HOST ? to : NULL;
    if (host && !is_pinned(host) && barred())
        return end(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    if (!on || !on->capture)
        memmove(to, from, size);
    return end(put(on));
}

aclError aclrtMemset(void *address, size_t most_bytes, int32_t value, size_t size)
{
    BEGIN("set_now %p %zu", address, size);
    if (barred())
        return end(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    memset(address, value, size);
    return end(ACL_SUCCESS);
}

aclError aclrtMemsetAsync(void *address, size_t most_bytes, int32_t value, size_t size, aclrtStream stream)
{
    Stream *on = stream;
    BEGIN("set %s %p %zu", of(on), address, size);
    if (!on || !on->capture)
        memset(address, value, size);
    return end(put(on));
}

aclError aclrtGetMemInfo(aclrtMemAttr attribute, size_t *left, size_t *total)
{
    *left = *total = MEMORY;
    return ACL_SUCCESS;
}

/* Kernels: those that fill and copy what does not lie in one piece do it; of others the name is logged. */

struct aclDataBuffer {
    void *address;
    size_t size;
};

struct aclTensorDesc {
    int dims;
    int64_t dim[8];
};

aclDataBuffer *aclCreateDataBuffer(void *address, size_t size)
{
    aclDataBuffer *one = malloc(sizeof *one);
    *one = (aclDataBuffer){address, size};
    return one;
}

aclError aclDestroyDataBuffer(const aclDataBuffer *buffer)
{
    free((void *)buffer);
    return ACL_SUCCESS;
}

aclError aclSetTensorShape(aclTensorDesc *tensor, int dims, const int64_t *dim)
{
    tensor->dims = dims < 8 ? dims : 8;
    memcpy(tensor->dim, dim, (size_t)tensor->dims * sizeof *dim);
    return ACL_SUCCESS;
}

aclTensorDesc *aclCreateTensorDesc(aclDataType type, int dims, const int64_t *dim, aclFormat format)
{
    aclTensorDesc *one = calloc(1, sizeof *one);
    aclSetTensorShape(one, dims, dim);
    return one;
}

void aclDestroyTensorDesc(const aclTensorDesc *tensor) { free((void *)tensor); }

typedef struct {
    char *at;
    const int64_t *strides;
} View;

/* As many copies as the two have pieces; `size` bytes are what all dims from here on hold. */
static void copy_view(Stream *on, View into, View from, int dims, const int64_t *sizes, size_t element)
{
    int64_t whole = 1;
    int dense = 1;
    for (int dim = dims - 1; dim >= 0; dim--) {
        dense = dense && (sizes[dim] == 1 || (into.strides[dim] == whole && from.strides[dim] == whole));
        whole *= sizes[dim];
    }
    if (dense) {
        say("copy %s %p %p %zu\n", of(on), into.at, from.at, (size_t)whole * element);
        memmove(into.at, from.at, (size_t)whole * element);
        return;
    }
    for (int64_t i = 0; i < *sizes; i++) {
        View to = {into.at + (size_t)(i * *into.strides) * element, into.strides + 1};
        View of_from = {from.at + (size_t)(i * *from.strides) * element, from.strides + 1};
        copy_view(on, to, of_from, dims - 1, sizes + 1, element);
    }
}

static size_t element_of(const aclDataBuffer *buffer, const aclTensorDesc *tensor, int64_t *strides)
{
    int64_t count = 1;
    for (int dim = tensor->dims - 1; dim >= 0; dim--) {
        strides[dim] = count;
        count *= tensor->dim[dim];
    }
    return count ? buffer->size / (size_t)count : 1;
}

aclError aclopCompileAndExecute(const char *type, int inputs, const aclTensorDesc *const shape[],
                                const aclDataBuffer *const in[], int outputs, const aclTensorDesc *const out_shape[],
                                aclDataBuffer *const out[], const aclopAttr *attributes, aclopEngineType engine,
                                aclopCompileType compile, const char *path, aclrtStream stream)
{
    Stream *on = stream;
    int64_t strides[8], out_strides[8], offset = 0;
    BEGIN("kernel %s %s\n", of(on), type);
    size_t element = element_of(in[0], shape[0], strides);
    if (!strcmp(type, "Slice")) { /* of the first, from indices on, so many */
        const int64_t *from = in[1]->address, *sizes = in[2]->address;
        for (int dim = 0; dim < shape[0]->dims; dim++)
            offset += from[dim] * strides[dim];
        element_of(out[0], out_shape[0], out_strides);
        View source = {(char *)in[0]->address + (size_t)offset * element, strides};
        copy_view(on, (View){out[0]->address, out_strides}, source, shape[0]->dims, sizes, element);
    } else if (!strcmp(type, "ViewCopy")) { /* memory, sizes, strides, offset; and again, of what is copied */
        const int64_t *sizes = in[1]->address, *into = in[3]->address, *from = in[7]->address;
        View source = {(char *)in[4]->address + (size_t)*from * element, in[6]->address};
        View target = {(char *)in[0]->address + (size_t)*into * element, in[2]->address};
        copy_view(on, target, source, (int)(in[1]->size / sizeof *sizes), sizes, element);
    } else if (!strcmp(type, "ZerosLike")) {
        say("set %s %p %zu\n", of(on), out[0]->address, out[0]->size);
        memset(out[0]->address, 0, out[0]->size);
    }
    put(on);
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

/* The device. */

static int device_set;

aclError aclrtSetDevice(int32_t device)
{
    device_set = 1;
    return ACL_SUCCESS;
}

aclError aclrtGetDevice(int32_t *device)
{
    *device = 0;
    return device_set ? ACL_SUCCESS : ACL_ERROR_RT_CONTEXT_NULL;
}

aclError aclrtGetDeviceCount(uint32_t *count)
{
    *count = 1;
    return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext *context)
{
    *context = device_set ? (aclrtContext)&device_set : NULL;
    return device_set ? ACL_SUCCESS : ACL_ERROR_RT_CONTEXT_NULL;
}

aclError aclrtGetPrimaryCtxState(int32_t device, uint32_t *flags, int32_t *active)
{
    *active = device_set;
    return ACL_SUCCESS;
}

const char *aclrtGetSocName(void) { return SOC; }

const char *aclGetRecentErrMsg(void) { return "this is the fake driver of Plait's tests"; }

/* Settings that torch_npu makes when it starts. */

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) { return ACL_SUCCESS; }
aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value) { return ACL_SUCCESS; }
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt option, int64_t value) { return ACL_SUCCESS; }

aclError aclrtGetSysParamOpt(aclSysParamOpt option, int64_t *value)
{
    *value = 0;
    return ACL_SUCCESS;
}
aclError aclSetCompileopt(aclCompileOpt option, const char *value) { return ACL_SUCCESS; }
size_t aclGetCompileoptSize(aclCompileOpt option) { return 1; }

aclError aclGetCompileopt(aclCompileOpt option, char *value, size_t size)
{
    memset(value, 0, size);
    return ACL_SUCCESS;
}
aclError aclrtSetOpExecuteTimeOut(uint32_t seconds) { return ACL_SUCCESS; }
