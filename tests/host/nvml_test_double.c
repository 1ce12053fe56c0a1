/* Test double of libnvidia-ml.so.1: answers from the text file that $FAKE_NVML names. Not NVIDIA's library.
 *
 * Lines are "key value", of equal keys the first counts:  count 2 | 0.name NVIDIA H200 | *.name for all other GPUs |
 * error.nvmlInitWithFlags 9 | error.1.nvmlDeviceGetUUID 15 | hang.nvmlDeviceGetName 1 | hang.1.nvmlDeviceGetName 1.
 * A field without a line answers NOT_SUPPORTED. Built with -DOLD_DRIVER the double lacks what drivers before 450 lack.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, VERSION_MISMATCH = 25 };
enum { MOST_GPUS = 16, MOST_LINES = 1024 };

typedef struct { int index; } Device;
static Device devices[MOST_GPUS];
static char lines[MOST_LINES][256];
static int line_count;

__attribute__((constructor)) static void test_double_read_state(void) {
    const char *path = getenv("FAKE_NVML");
    FILE *state = path ? fopen(path, "r") : NULL;
    for (int index = 0; index < MOST_GPUS; index++) devices[index].index = index;
    while (state && line_count < MOST_LINES && fgets(lines[line_count], sizeof lines[0], state)) {
        lines[line_count][strcspn(lines[line_count], "\n")] = 0;
        line_count++;
    }
    if (state) fclose(state);
}

static const char *look_up(const char *key) {
    size_t length = strlen(key);
    for (int line = 0; line < line_count; line++)
        if (strncmp(lines[line], key, length) == 0 && lines[line][length] == ' ') return lines[line] + length + 1;
    return NULL;
}

static const char *of_gpu(int index, const char *name) {
    char key[160];
    snprintf(key, sizeof key, "%d.%s", index, name);
    const char *value = look_up(key);
    snprintf(key, sizeof key, "*.%s", name);
    return value ? value : look_up(key);
}

static const char *of_call(const char *what, int index, const char *function) {
    char key[160];
    snprintf(key, sizeof key, "%s.%s", what, function);
    const char *value = look_up(key);
    snprintf(key, sizeof key, "%s.%d.%s", what, index, function);
    if (!value) value = look_up(key);
    snprintf(key, sizeof key, "%s.%d.all", what, index);
    return value ? value : look_up(key);
}

static int injected(const char *function, int index) {
    if (of_call("hang", index, function)) for (;;) pause();
    const char *error = of_call("error", index, function);
    return error ? atoi(error) : SUCCESS;
}

static int field(Device *device, const char *function, const char *name, const char **value) {
    int error = injected(function, device->index);
    if (error) return error;
    *value = of_gpu(device->index, name);
    return *value ? SUCCESS : NOT_SUPPORTED;
}

static int text(Device *device, const char *function, const char *name, char *out, unsigned size) {
    const char *value;
    int error = field(device, function, name, &value);
    if (!error) snprintf(out, size, "%s", value);
    return error;
}

static int numbers(Device *device, const char *function, const char *name, int count, unsigned long long *out) {
    const char *value;
    int error = field(device, function, name, &value);
    for (int place = 0; !error && place < count; place++) out[place] = strtoull(value, (char **)&value, 0);
    return error;
}

static int number(Device *device, const char *function, const char *name, unsigned *out) {
    unsigned long long value = 0;
    int error = numbers(device, function, name, 1, &value);
    if (!error) *out = (unsigned)value;
    return error;
}

static int numbered(Device *device, const char *function, const char *name, int which, unsigned *out) {
    char key[64];
    snprintf(key, sizeof key, "%s.%d", name, which);
    return number(device, function, key, out);
}

static int pair(Device *device, const char *function, const char *name, unsigned *one, unsigned *two) {
    unsigned long long both[2] = {0, 0};
    int error = numbers(device, function, name, 2, both);
    if (!error) *one = (unsigned)both[0], *two = (unsigned)both[1];
    return error;
}

static int system_text(const char *function, const char *key, const char *content, char *out, unsigned size) {
    int error = injected(function, -1);
    if (!error) snprintf(out, size, "%s", look_up(key) ? look_up(key) : content);
    return error;
}

int nvmlInitWithFlags(unsigned flags) { (void)flags; return injected("nvmlInitWithFlags", -1); }
int nvmlInit_v2(void) { return injected("nvmlInit_v2", -1); }
int nvmlShutdown(void) { return SUCCESS; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) {
    return system_text("nvmlSystemGetDriverVersion", "driver", "580.95.05-FAKE", out, size);
}
int nvmlSystemGetNVMLVersion(char *out, unsigned size) {
    return system_text("nvmlSystemGetNVMLVersion", "nvml", "13.580.95.05-FAKE", out, size);
}
int nvmlSystemGetCudaDriverVersion(int *out) { *out = 12040; return injected("nvmlSystemGetCudaDriverVersion", -1); }
int nvmlDeviceGetCount_v2(unsigned *out) {
    *out = look_up("count") ? (unsigned)atoi(look_up("count")) : 0;
    return injected("nvmlDeviceGetCount", -1);
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **out) {
    if (index >= MOST_GPUS) return INVALID_ARGUMENT;
    *out = &devices[index];
    return injected("nvmlDeviceGetHandleByIndex", (int)index);
}

#define TEXT(function, name) \
    int function(Device *d, char *out, unsigned size) { return text(d, #function, name, out, size); }
TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")

#define NUMBER(function, name) int function(Device *d, unsigned *out) { return number(d, #function, name, out); }
NUMBER(nvmlDeviceGetBrand, "brand")
NUMBER(nvmlDeviceGetMinorNumber, "minor")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_generation")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_max_generation")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie_max_width")
NUMBER(nvmlDeviceGetPcieReplayCounter, "pcie_replays")
NUMBER(nvmlDeviceGetPowerManagementLimit, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "power_default_limit")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power_enforced_limit")
NUMBER(nvmlDeviceGetPowerUsage, "power_usage")
NUMBER(nvmlDeviceGetPerformanceState, "performance_state")
NUMBER(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retired_pending")

#define NUMBERED(function, name) \
    int function(Device *d, int which, unsigned *out) { return numbered(d, #function, name, which, out); }
NUMBERED(nvmlDeviceGetClockInfo, "clock")
NUMBERED(nvmlDeviceGetMaxClockInfo, "max_clock")
NUMBERED(nvmlDeviceGetApplicationsClock, "application_clock")
NUMBERED(nvmlDeviceGetDefaultApplicationsClock, "default_application_clock")
NUMBERED(nvmlDeviceGetTemperature, "temperature")
NUMBERED(nvmlDeviceGetTemperatureThreshold, "threshold")

#define PAIR(function, name) \
    int function(Device *d, unsigned *one, unsigned *two) { return pair(d, #function, name, one, two); }
PAIR(nvmlDeviceGetCudaComputeCapability, "capability")
PAIR(nvmlDeviceGetPowerManagementLimitConstraints, "power_constraints")
PAIR(nvmlDeviceGetEccMode, "ecc")

/* The older name of this call. */
int nvmlDeviceGetCurrentClocksThrottleReasons(Device *d, unsigned long long *out) {
    return numbers(d, "nvmlDeviceGetCurrentClocksThrottleReasons", "throttle_reasons", 1, out);
}

typedef struct { unsigned gpu, memory; } Utilization;
int nvmlDeviceGetUtilizationRates(Device *d, Utilization *out) {
    return pair(d, "nvmlDeviceGetUtilizationRates", "utilization", &out->gpu, &out->memory);
}

typedef struct {
    char legacy_bus_id[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
} PciInfo;
int nvmlDeviceGetPciInfo_v3(Device *d, PciInfo *out) {
    memset(out, 0, sizeof *out);
    return text(d, "nvmlDeviceGetPciInfo", "bus_id", out->bus_id, sizeof out->bus_id);
}

typedef struct { unsigned long long total, free, used; } Memory;
static int memory(Device *d, const char *function, const char *name, Memory *out) {
    unsigned long long both[2] = {0, 0};
    int error = numbers(d, function, name, 2, both);
    if (!error) out->total = both[0], out->used = both[1], out->free = both[0] - both[1];
    return error;
}
int nvmlDeviceGetMemoryInfo(Device *d, Memory *out) { return memory(d, "nvmlDeviceGetMemoryInfo", "memory", out); }
int nvmlDeviceGetBAR1MemoryInfo(Device *d, Memory *out) {
    return memory(d, "nvmlDeviceGetBAR1MemoryInfo", "bar1", out);
}

typedef struct { unsigned long long reference_time, violation_time; } ViolationTime;
int nvmlDeviceGetViolationStatus(Device *d, int policy, ViolationTime *out) {
    char key[32];
    snprintf(key, sizeof key, "violation.%d", policy);
    return numbers(d, "nvmlDeviceGetViolationStatus", key, 1, &out->violation_time);
}

int nvmlDeviceGetTotalEccErrors(Device *d, int kind, int counter, unsigned long long *out) {
    char key[32];
    (void)counter;
    snprintf(key, sizeof key, "ecc_errors.%d", kind);
    return numbers(d, "nvmlDeviceGetTotalEccErrors", key, 1, out);
}

/* "cpus 0 51": the CPUs from 0 to 51. */
static int mask(Device *d, const char *function, const char *name, unsigned size, unsigned long *out) {
    unsigned first, last;
    int error = pair(d, function, name, &first, &last);
    memset(out, 0, size * sizeof *out);
    for (unsigned bit = first; !error && bit <= last && bit / 64 < size; bit++) out[bit / 64] |= 1UL << bit % 64;
    return error;
}
int nvmlDeviceGetCpuAffinity(Device *d, unsigned size, unsigned long *out) {
    return mask(d, "nvmlDeviceGetCpuAffinity", "cpus", size, out);
}

typedef struct { unsigned pid; unsigned long long memory; unsigned instance, compute_instance; } Process;
static int processes(Device *d, const char *function, unsigned *count, Process *out) {
    unsigned long long found[9] = {0};
    unsigned there = 0, room = *count;
    int error = numbers(d, function, "processes", 8, found);
    if (error) return error;
    while (found[there]) there++;
    *count = there;
    if (there > room) return INSUFFICIENT_SIZE;
    for (unsigned place = 0; place < there; place++) out[place].pid = (unsigned)found[place];
    return SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v2(Device *d, unsigned *count, Process *out) {
    return processes(d, "nvmlDeviceGetComputeRunningProcesses_v2", count, out);
}

/* "links 18" are there, of them the first "nvlinks 17" are up; "hole 5" is a number that is left out. */
static int link_number(Device *d, const char *function, unsigned link) {
    unsigned links = 0, hole;
    int error = number(d, function, "links", &links);
    if (error) return error;
    if (link >= links) return INVALID_ARGUMENT;
    return number(d, function, "hole", &hole) == SUCCESS && hole == link ? NOT_SUPPORTED : SUCCESS;
}
int nvmlDeviceGetNvLinkState(Device *d, unsigned link, unsigned *active) {
    unsigned up = 0;
    int error = link_number(d, "nvmlDeviceGetNvLinkState", link);
    if (!error) error = number(d, "nvmlDeviceGetNvLinkState", "nvlinks", &up);
    *active = link < up;
    return error;
}
int nvmlDeviceGetNvLinkVersion(Device *d, unsigned link, unsigned *out) {
    int error = link_number(d, "nvmlDeviceGetNvLinkVersion", link);
    return error ? error : number(d, "nvmlDeviceGetNvLinkVersion", "nvlink_version", out);
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device *d, unsigned link, PciInfo *out) {
    int error = link_number(d, "nvmlDeviceGetNvLinkRemotePciInfo", link);
    memset(out, 0, sizeof *out);
    return error ? error : text(d, "nvmlDeviceGetNvLinkRemotePciInfo", "nvlink_remote_bus_id", out->bus_id, sizeof out->bus_id);
}
int nvmlDeviceGetNvLinkErrorCounter(Device *d, unsigned link, int counter, unsigned long long *out) {
    unsigned long long found[5] = {0};
    int error = link_number(d, "nvmlDeviceGetNvLinkErrorCounter", link);
    if (!error) error = numbers(d, "nvmlDeviceGetNvLinkErrorCounter", "nvlink_errors", 5, found);
    if (!error) *out = found[counter];
    return error;
}

int nvmlDeviceGetP2PStatus(Device *a, Device *b, int capability, int *status) {
    unsigned told = 0;
    int error = numbered(a, "nvmlDeviceGetP2PStatus", "p2p", capability, &told);
    (void)b;
    *status = (int)told;
    return error;
}
int nvmlDeviceGetTopologyCommonAncestor(Device *a, Device *b, int *level) {
    unsigned told = 0;
    int error = number(a, "nvmlDeviceGetTopologyCommonAncestor", "ancestor", &told);
    (void)b;
    *level = (int)told;
    return error;
}

#ifndef OLD_DRIVER
NUMBER(nvmlDeviceGetArchitecture, "architecture")
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie_gpu_max_generation")
NUMBER(nvmlDeviceGetNumaNodeId, "numa_node")
NUMBER(nvmlDeviceGetVirtualizationMode, "virtualization")
PAIR(nvmlDeviceGetMigMode, "mig")

int nvmlDeviceGetCurrentClocksEventReasons(Device *d, unsigned long long *out) {
    return numbers(d, "nvmlDeviceGetCurrentClocksEventReasons", "throttle_reasons", 1, out);
}
int nvmlDeviceGetGspFirmwareVersion(Device *d, char *out) {
    return text(d, "nvmlDeviceGetGspFirmwareVersion", "gsp", out, 64);
}
int nvmlDeviceGetRemappedRows(Device *d, unsigned *a, unsigned *b, unsigned *c, unsigned *e) {
    unsigned long long found[4] = {0};
    int error = numbers(d, "nvmlDeviceGetRemappedRows", "remapped", 4, found);
    if (!error) *a = found[0], *b = found[1], *c = found[2], *e = found[3];
    return error;
}
int nvmlDeviceGetCpuAffinityWithinScope(Device *d, unsigned size, unsigned long *out, unsigned scope) {
    (void)scope;
    return mask(d, "nvmlDeviceGetCpuAffinityWithinScope", "cpus", size, out);
}
int nvmlDeviceGetMemoryAffinity(Device *d, unsigned size, unsigned long *out, unsigned scope) {
    (void)scope;
    return mask(d, "nvmlDeviceGetMemoryAffinity", "nodes", size, out);
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device *d, unsigned *count, Process *out) {
    return processes(d, "nvmlDeviceGetComputeRunningProcesses_v3", count, out);
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Device *d, unsigned link, unsigned *out) {
    int error = link_number(d, "nvmlDeviceGetNvLinkRemoteDeviceType", link);
    return error ? error : number(d, "nvmlDeviceGetNvLinkRemoteDeviceType", "nvlink_remote", out);
}

typedef struct { unsigned version, value; } AddressingMode;
int nvmlDeviceGetAddressingMode(Device *d, AddressingMode *out) {
    return number(d, "nvmlDeviceGetAddressingMode", "addressing", &out->value);
}

typedef struct { unsigned environment, feature, tools; } Confidential;
int nvmlSystemGetConfComputeState(Confidential *out) {
    memset(out, 0, sizeof *out);
    if (!look_up("confidential")) return NOT_SUPPORTED;
    out->feature = (unsigned)atoi(look_up("confidential"));
    return SUCCESS;
}

typedef struct {
    unsigned field, scope;
    int64_t timestamp, latency;
    unsigned type, result;
    union { double d; unsigned ui; unsigned long long ull; } value;
} FieldValue;
int nvmlDeviceGetFieldValues(Device *d, int count, FieldValue *values) {
    int error = injected("nvmlDeviceGetFieldValues", d->index);
    for (int place = 0; !error && place < count; place++) {
        char key[32];
        snprintf(key, sizeof key, "value.%u", values[place].field);
        values[place].type = 1;
        values[place].result = (unsigned)number(d, "nvmlDeviceGetFieldValues", key, &values[place].value.ui);
    }
    return error;
}

/* "fabric <state> <status> <clique> <health mask> <summary> <newest form of the struct that is known>" */
typedef struct {
    unsigned version;
    unsigned char cluster[16];
    unsigned status, clique, state, health;
    unsigned char summary;
} Fabric;
int nvmlDeviceGetGpuFabricInfoV(Device *d, Fabric *out) {
    unsigned long long told[6] = {0};
    int error = numbers(d, "nvmlDeviceGetGpuFabricInfoV", "fabric", 6, told);
    if (error) return error;
    if (out->version >> 24 > told[5]) return VERSION_MISMATCH;
    memset(out->cluster, 0xab, sizeof out->cluster);
    out->state = (unsigned)told[0], out->status = (unsigned)told[1], out->clique = (unsigned)told[2];
    out->health = (unsigned)told[3];
    if (out->version >> 24 >= 3) out->summary = (unsigned char)told[4];
    return SUCCESS;
}
#endif
