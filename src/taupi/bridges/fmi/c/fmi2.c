/* The functions of FMI 2.0 around a model (model.h): co-simulation and, if the model has rates, model exchange.
 *
 * Types are those of the standard's headers, which this file does without. Written by taupi.
 */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif
#ifdef FMI2_FUNCTION_PREFIX
#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define F(name) JOINED(FMI2_FUNCTION_PREFIX, name)
#else
#define F(name) name
#endif
#define API EXPORTED int

enum { OK, WARNING, DISCARD, ERROR, FATAL, PENDING };
enum { EXCHANGE, CO_SIMULATION };
typedef unsigned int Reference;
typedef const char *String;

typedef struct {
    void (*log)(void *environment, String instance, int status, String category, String message, ...);
    void *(*allocate)(size_t count, size_t size);
    void (*release)(void *memory);
    void (*finished)(void *environment, int status);
    void *environment;
} Callbacks;

typedef struct {
    int again, terminate, nominals, values, next_defined;
    double next;
} EventInfo;

typedef struct {
    Model model;
    Callbacks callbacks;
    int logging, initialized;
    char name[64];
} Unit;

static int refused(Unit *u, String message)
{
    if (u && u->callbacks.log && u->logging)
        u->callbacks.log(u->callbacks.environment, u->name, ERROR, "logStatusError", "%s", message);
    return ERROR;
}

/* Life ----------------------------------------------------------------------------------------------------------------- */

EXPORTED String F(fmi2GetTypesPlatform)(void) { return "default"; }
EXPORTED String F(fmi2GetVersion)(void) { return "2.0"; }

API F(fmi2SetDebugLogging)(void *c, int on, size_t count, const String categories[])
{
    (void)count, (void)categories;
    ((Unit *)c)->logging = on;
    return OK;
}

EXPORTED void *F(fmi2Instantiate)(String name, int kind, String guid, String resources, const Callbacks *callbacks,
                                  int visible, int logging)
{
    (void)resources, (void)visible;
    if (!guid || strcmp(guid, MODEL_TOKEN) || (kind == EXCHANGE && !MODEL_EXCHANGE)) {
        if (callbacks && callbacks->log)
            callbacks->log(callbacks->environment, name, ERROR, "logStatusError", "%s", "the guid or the type is not this unit's");
        return NULL;
    }
    Unit *u = calloc(1, sizeof *u);
    if (!u) return NULL;
    if (callbacks) u->callbacks = *callbacks;
    u->logging = logging;
    if (name) strncpy(u->name, name, sizeof u->name - 1);
    model_start(&u->model);
    return u;
}

EXPORTED void F(fmi2FreeInstance)(void *c) { free(c); }

API F(fmi2SetupExperiment)(void *c, int tolerance_defined, double tolerance, double start, int stop_defined, double stop)
{
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    ((Unit *)c)->model.v[0] = start;
    return OK;
}

API F(fmi2EnterInitializationMode)(void *c) { return (void)c, OK; }
API F(fmi2ExitInitializationMode)(void *c) { return ((Unit *)c)->initialized = 1, OK; }
API F(fmi2Terminate)(void *c) { return (void)c, OK; }

API F(fmi2Reset)(void *c)
{
    ((Unit *)c)->initialized = 0;
    model_start(&((Unit *)c)->model);
    return OK;
}

/* Values --------------------------------------------------------------------------------------------------------------- */

API F(fmi2GetReal)(void *c, const Reference references[], size_t count, double values[])
{
    Unit *u = c;
    for (size_t k = 0; k < count; ++k) {
        if (references[k] >= VALUES) return refused(u, "no variable has this value reference");
        if (references[k] >= FIRST_RATE && references[k] < FIRST_OUTPUT + OUTPUTS) model_evaluate(&u->model);
        values[k] = u->model.v[references[k]];
    }
    return OK;
}

API F(fmi2SetReal)(void *c, const Reference references[], size_t count, const double values[])
{
    Unit *u = c;
    for (size_t k = 0; k < count; ++k) {
        Reference r = references[k];
        int own = (r >= FIRST_INPUT && r < FIRST_RATE) || (HAS_STEP && r == STEP && !u->initialized);
        if (!own) return refused(u, "only inputs, states and, before the start, parameters can be set");
        if (HAS_STEP && r == STEP && !(values[k] > 0)) return refused(u, "step must be above 0");
        u->model.v[r] = values[k];
    }
    u->model.stale = 1;
    return OK;
}

#define NO_SUCH(Type, type)                                                                                              \
    API F(fmi2Get##Type)(void *c, const Reference references[], size_t count, type values[])                             \
    {                                                                                                                    \
        (void)references, (void)values;                                                                                  \
        return count ? refused(c, "all variables are of type Real") : OK;                                                \
    }                                                                                                                    \
    API F(fmi2Set##Type)(void *c, const Reference references[], size_t count, const type values[])                       \
    {                                                                                                                    \
        (void)references, (void)values;                                                                                  \
        return count ? refused(c, "all variables are of type Real") : OK;                                                \
    }
NO_SUCH(Integer, int)
NO_SUCH(Boolean, int)
NO_SUCH(String, String)

/* The state of the unit, which holds no pointers of its own ------------------------------------------------------------- */

API F(fmi2GetFMUstate)(void *c, void **state)
{
    if (!*state) *state = malloc(sizeof(Model));
    if (!*state) return refused(c, "no memory is left");
    memcpy(*state, &((Unit *)c)->model, sizeof(Model));
    return OK;
}

API F(fmi2SetFMUstate)(void *c, void *state)
{
    memcpy(&((Unit *)c)->model, state, sizeof(Model));
    return OK;
}

API F(fmi2FreeFMUstate)(void *c, void **state)
{
    (void)c;
    if (state) free(*state), *state = NULL;
    return OK;
}

API F(fmi2SerializedFMUstateSize)(void *c, void *state, size_t *size) { return (void)c, (void)state, *size = sizeof(Model), OK; }

API F(fmi2SerializeFMUstate)(void *c, void *state, char bytes[], size_t size)
{
    if (size != sizeof(Model)) return refused(c, "the size is not that of a state");
    memcpy(bytes, state, size);
    return OK;
}

API F(fmi2DeSerializeFMUstate)(void *c, const char bytes[], size_t size, void **state)
{
    if (size != sizeof(Model)) return refused(c, "the size is not that of a state");
    if (!*state) *state = malloc(size);
    if (!*state) return refused(c, "no memory is left");
    memcpy(*state, bytes, size);
    return OK;
}

API F(fmi2GetDirectionalDerivative)(void *c, const Reference unknowns[], size_t count, const Reference knowns[],
                                    size_t others, const double seed[], double result[])
{
    Unit *u = c;
    double d[VALUES] = {0};
    for (size_t k = 0; k < others; ++k) {
        if (knowns[k] < FIRST_INPUT || knowns[k] >= FIRST_RATE) return refused(u, "only inputs and states can be known");
        d[knowns[k]] = seed[k];
    }
    if (model_tangent(&u->model, d)) return refused(u, "directional derivatives are not provided");
    for (size_t k = 0; k < count; ++k) {
        if (unknowns[k] >= VALUES) return refused(u, "no variable has this value reference");
        result[k] = d[unknowns[k]];
    }
    return OK;
}

/* Model exchange ------------------------------------------------------------------------------------------------------- */

API F(fmi2EnterEventMode)(void *c) { return (void)c, OK; }
API F(fmi2EnterContinuousTimeMode)(void *c) { return (void)c, OK; }

API F(fmi2NewDiscreteStates)(void *c, EventInfo *info)
{
    (void)c;
    memset(info, 0, sizeof *info);
    return OK;
}

API F(fmi2CompletedIntegratorStep)(void *c, int no_return, int *event, int *terminate)
{
    (void)c, (void)no_return;
    *event = *terminate = 0;
    return OK;
}

API F(fmi2SetTime)(void *c, double time) { return ((Unit *)c)->model.v[0] = time, OK; }

API F(fmi2SetContinuousStates)(void *c, const double x[], size_t count)
{
    Unit *u = c;
    if (count != STATES) return refused(u, "as many numbers as states are expected");
    memcpy(u->model.v + FIRST_STATE, x, count * sizeof(double));
    u->model.stale = 1;
    return OK;
}

API F(fmi2GetContinuousStates)(void *c, double x[], size_t count)
{
    Unit *u = c;
    if (count != STATES) return refused(u, "as many numbers as states are expected");
    memcpy(x, u->model.v + FIRST_STATE, count * sizeof(double));
    return OK;
}

API F(fmi2GetDerivatives)(void *c, double rates[], size_t count)
{
    Unit *u = c;
    if (count != STATES) return refused(u, "as many numbers as states are expected");
    model_evaluate(&u->model);
    memcpy(rates, u->model.v + FIRST_RATE, count * sizeof(double));
    for (size_t k = 0; k < count; ++k)
        if (!isfinite(rates[k])) return refused(u, "a rate is not finite");
    return OK;
}

API F(fmi2GetEventIndicators)(void *c, double indicators[], size_t count)
{
    (void)indicators;
    return count ? refused(c, "there are no event indicators") : OK;
}

API F(fmi2GetNominalsOfContinuousStates)(void *c, double nominals[], size_t count)
{
    (void)c;
    for (size_t k = 0; k < count; ++k) nominals[k] = 1;
    return OK;
}

/* Co-simulation -------------------------------------------------------------------------------------------------------- */

API F(fmi2DoStep)(void *c, double time, double h, int no_return)
{
    Unit *u = c;
    (void)no_return;
    if (!(h > 0)) return refused(u, "the step must be above 0");
    u->model.v[0] = time;
    if (model_advance(&u->model, h)) return refused(u, "a value is not finite after this step");
    u->model.v[0] = time + h;
    return OK;
}

API F(fmi2CancelStep)(void *c) { return refused(c, "steps end before they return"); }

API F(fmi2SetRealInputDerivatives)(void *c, const Reference references[], size_t count, const int orders[], const double values[])
{
    (void)references, (void)orders, (void)values;
    return count ? refused(c, "inputs are held over a step") : OK;
}

API F(fmi2GetRealOutputDerivatives)(void *c, const Reference references[], size_t count, const int orders[], double values[])
{
    (void)references, (void)orders, (void)values;
    return count ? refused(c, "derivatives of outputs are not provided") : OK;
}

#define NO_STATUS(name, type)                                                                                            \
    API F(name)(void *c, int kind, type *value)                                                                          \
    {                                                                                                                    \
        (void)c, (void)kind, (void)value;                                                                                \
        return DISCARD;                                                                                                  \
    }
NO_STATUS(fmi2GetStatus, int)
NO_STATUS(fmi2GetRealStatus, double)
NO_STATUS(fmi2GetIntegerStatus, int)
NO_STATUS(fmi2GetBooleanStatus, int)
NO_STATUS(fmi2GetStringStatus, String)
