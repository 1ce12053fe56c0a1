/* Test double of libnvidia-ml.so.1: answers from the text file that $FAKE_NVML names. Not NVIDIA's library.
 *
 * Lines are "key value":  count 2 | 0.name NVIDIA H200 | error.nvmlInitWithFlags 9 | error.1.nvmlDeviceGetUUID 15 |
 * hang.nvmlDeviceGetName 1. A field without a line answers NOT_SUPPORTED.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3 };

typedef struct { int index; } Device;
static Device devices[16];

static int look_up(const char *key, char *value, size_t size) {
    char line[512];
    const char *path = getenv("FAKE_NVML");
    FILE *state = path ? fopen(path, "r") : NULL;
    int found = 0;
    if (!state) return 0;
    while (!found && fgets(line, sizeof line, state)) {
        size_t length = strlen(key);
        if (strncmp(line, key, length) == 0 && line[length] == ' ') {
            line[strcspn(line, "\n")] = 0;
            snprintf(value, size, "%s", line + length + 1);
            found = 1;
        }
    }
    fclose(state);
    return found;
}

static int injected(const char *function, int index) {
    char key[128], value[128];
    snprintf(key, sizeof key, "hang.%s", function);
    if (look_up(key, value, sizeof value)) for (;;) pause();
    snprintf(key, sizeof key, "error.%s", function);
    if (look_up(key, value, sizeof value)) return atoi(value);
    snprintf(key, sizeof key, "error.%d.%s", index, function);
    return look_up(key, value, sizeof value) ? atoi(value) : SUCCESS;
}

static int field(Device *device, const char *function, const char *name, char *value, size_t size) {
    char key[128];
    int error = injected(function, device->index);
    if (error) return error;
    snprintf(key, sizeof key, "%d.%s", device->index, name);
    return look_up(key, value, size) ? SUCCESS : NOT_SUPPORTED;
}

static int number(Device *device, const char *function, const char *name, unsigned *out) {
    char value[64];
    int error = field(device, function, name, value, sizeof value);
    if (!error) *out = (unsigned)strtoul(value, NULL, 0);
    return error;
}

static int pair(Device *device, const char *function, const char *name, unsigned *one, unsigned *two) {
    char value[64];
    int error = field(device, function, name, value, sizeof value);
    if (!error) sscanf(value, "%u %u", one, two);
    return error;
}

int nvmlInitWithFlags(unsigned flags) { (void)flags; return injected("nvmlInitWithFlags", -1); }
int nvmlInit_v2(void) { return injected("nvmlInit_v2", -1); }
int nvmlShutdown(void) { return SUCCESS; }

static int text(const char *function, const char *content, char *out, unsigned size) {
    int error = injected(function, -1);
    if (!error) snprintf(out, size, "%s", content);
    return error;
}
int nvmlSystemGetDriverVersion(char *out, unsigned size) { return text("nvmlSystemGetDriverVersion", "580.95.05-FAKE", out, size); }
int nvmlSystemGetNVMLVersion(char *out, unsigned size) { return text("nvmlSystemGetNVMLVersion", "13.580.95.05-FAKE", out, size); }
int nvmlSystemGetCudaDriverVersion(int *out) { *out = 12040; return injected("nvmlSystemGetCudaDriverVersion", -1); }

int nvmlDeviceGetCount_v2(unsigned *out) {
    char value[64];
    *out = look_up("count", value, sizeof value) ? (unsigned)atoi(value) : 0;
    return injected("nvmlDeviceGetCount", -1);
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **out) {
    if (index >= 16) return INVALID_ARGUMENT;
    devices[index].index = (int)index;
    *out = &devices[index];
    return injected("nvmlDeviceGetHandleByIndex", (int)index);
}

int nvmlDeviceGetName(Device *d, char *out, unsigned size) { return field(d, "nvmlDeviceGetName", "name", out, size); }
int nvmlDeviceGetUUID(Device *d, char *out, unsigned size) { return field(d, "nvmlDeviceGetUUID", "uuid", out, size); }

typedef struct {
    char legacy_bus_id[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
} PciInfo;
int nvmlDeviceGetPciInfo_v3(Device *d, PciInfo *out) {
    memset(out, 0, sizeof *out);
    return field(d, "nvmlDeviceGetPciInfo", "bus_id", out->bus_id, sizeof out->bus_id);
}

typedef struct { unsigned long long total, free, used; } Memory;
int nvmlDeviceGetMemoryInfo(Device *d, Memory *out) {
    char value[64];
    int error = field(d, "nvmlDeviceGetMemoryInfo", "memory", value, sizeof value);
    if (!error) sscanf(value, "%llu %llu", &out->total, &out->used);
    return error;
}

#define NUMBER(function, name) int function(Device *d, unsigned *out) { return number(d, #function, name, out); }
NUMBER(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_generation")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_max_generation")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie_max_width")
NUMBER(nvmlDeviceGetPowerManagementLimit, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "power_default_limit")
NUMBER(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER(nvmlDeviceGetNumaNodeId, "numa_node")

/* Only the older of the two names of this call, as drivers before 535 have it. */
int nvmlDeviceGetCurrentClocksThrottleReasons(Device *d, unsigned long long *out) {
    unsigned reasons = 0;
    int error = number(d, "nvmlDeviceGetCurrentClocksThrottleReasons", "throttle_reasons", &reasons);
    *out = reasons;
    return error;
}

int nvmlDeviceGetEccMode(Device *d, unsigned *now, unsigned *later) { return pair(d, "nvmlDeviceGetEccMode", "ecc", now, later); }
int nvmlDeviceGetMigMode(Device *d, unsigned *now, unsigned *later) { return pair(d, "nvmlDeviceGetMigMode", "mig", now, later); }
int nvmlDeviceGetRemappedRows(Device *d, unsigned *a, unsigned *b, unsigned *c, unsigned *e) {
    char value[64];
    int error = field(d, "nvmlDeviceGetRemappedRows", "remapped", value, sizeof value);
    if (!error) sscanf(value, "%u %u %u %u", a, b, c, e);
    return error;
}

int nvmlDeviceGetNvLinkState(Device *d, unsigned link, unsigned *active) {
    unsigned links = 0;
    int error = number(d, "nvmlDeviceGetNvLinkState", "nvlinks", &links);
    if (error) return error;
    if (link >= 18) return INVALID_ARGUMENT;
    *active = link < links;
    return SUCCESS;
}
int nvmlDeviceGetP2PStatus(Device *a, Device *b, int capability, int *status) {
    int error = injected("nvmlDeviceGetP2PStatus", a->index);
    (void)b;
    *status = capability == 2 ? 5 : 0;
    return error;
}
int nvmlDeviceGetTopologyCommonAncestor(Device *a, Device *b, int *level) {
    (void)a; (void)b;
    *level = 30;
    return SUCCESS;
}
