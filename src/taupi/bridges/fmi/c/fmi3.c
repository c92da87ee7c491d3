/* The functions of FMI 3.0 around a model (model.h): co-simulation and, if the model has rates, model exchange.
 *
 * Types are those of the standard's headers, which this file does without. Written by taupi.
 */
#include "model.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif
#ifdef FMI3_FUNCTION_PREFIX
#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define F(name) JOINED(FMI3_FUNCTION_PREFIX, name)
#else
#define F(name) name
#endif
#define API EXPORTED int

enum { OK, WARNING, DISCARD, ERROR, FATAL };
typedef uint32_t Reference;
typedef void Logger(void *environment, int status, const char *category, const char *message);

typedef struct {
    Model model;
    Logger *log;
    void *environment;
    bool logging;
    bool initialized;
} Unit;

static int refused(Unit *u, const char *message)
{
    if (u && u->log && u->logging) u->log(u->environment, ERROR, "logStatusError", message);
    return ERROR;
}

/* Life ----------------------------------------------------------------------------------------------------------------- */

EXPORTED const char *F(fmi3GetVersion)(void) { return "3.0"; }

API F(fmi3SetDebugLogging)(void *instance, bool on, size_t count, const char *const categories[])
{
    (void)count, (void)categories;
    ((Unit *)instance)->logging = on;
    return OK;
}

static void *created(const char *token, bool logging, void *environment, Logger *log)
{
    if (!token || strcmp(token, MODEL_TOKEN)) {
        if (log) log(environment, ERROR, "logStatusError", "the instantiation token is not this unit's");
        return NULL;
    }
    Unit *u = calloc(1, sizeof *u);
    if (!u) return NULL;
    u->log = log, u->environment = environment, u->logging = logging;
    model_start(&u->model);
    return u;
}

EXPORTED void *F(fmi3InstantiateModelExchange)(const char *name, const char *token, const char *resources, bool visible,
                                               bool logging, void *environment, Logger *log)
{
    (void)name, (void)resources, (void)visible;
    return MODEL_EXCHANGE ? created(token, logging, environment, log) : NULL;
}

EXPORTED void *F(fmi3InstantiateCoSimulation)(const char *name, const char *token, const char *resources, bool visible,
                                              bool logging, bool events, bool early, const Reference needed[],
                                              size_t count, void *environment, Logger *log, void *update)
{
    (void)name, (void)resources, (void)visible, (void)events, (void)early, (void)needed, (void)count, (void)update;
    return created(token, logging, environment, log);
}

EXPORTED void *F(fmi3InstantiateScheduledExecution)(const char *name, const char *token, const char *resources,
                                                    bool visible, bool logging, void *environment, Logger *log,
                                                    void *clock, void *lock, void *unlock)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)log;
    (void)clock, (void)lock, (void)unlock;
    return NULL;
}

EXPORTED void F(fmi3FreeInstance)(void *instance) { free(instance); }

API F(fmi3EnterInitializationMode)(void *instance, bool tolerance_defined, double tolerance, double start,
                                   bool stop_defined, double stop)
{
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    ((Unit *)instance)->model.v[0] = start;
    return OK;
}

API F(fmi3ExitInitializationMode)(void *instance)
{
    ((Unit *)instance)->initialized = true;
    return OK;
}

API F(fmi3EnterEventMode)(void *instance) { return (void)instance, OK; }
API F(fmi3Terminate)(void *instance) { return (void)instance, OK; }
API F(fmi3EnterConfigurationMode)(void *instance) { return (void)instance, OK; }
API F(fmi3ExitConfigurationMode)(void *instance) { return (void)instance, OK; }
API F(fmi3EnterContinuousTimeMode)(void *instance) { return (void)instance, OK; }
API F(fmi3EnterStepMode)(void *instance) { return (void)instance, OK; }
API F(fmi3EvaluateDiscreteStates)(void *instance) { return (void)instance, OK; }

API F(fmi3Reset)(void *instance)
{
    Unit *u = instance;
    u->initialized = false;
    model_start(&u->model);
    return OK;
}

API F(fmi3UpdateDiscreteStates)(void *instance, bool *again, bool *terminate, bool *nominals, bool *values,
                                bool *next_defined, double *next)
{
    (void)instance;
    *again = *terminate = *nominals = *values = *next_defined = false;
    *next = 0;
    return OK;
}

/* Values --------------------------------------------------------------------------------------------------------------- */

API F(fmi3GetFloat64)(void *instance, const Reference references[], size_t count, double values[], size_t size)
{
    Unit *u = instance;
    if (size != count) return refused(u, "as many values as references are expected");
    for (size_t k = 0; k < count; ++k) {
        if (references[k] >= VALUES) return refused(u, "no variable has this value reference");
        if (references[k] >= FIRST_RATE && references[k] < FIRST_OUTPUT + OUTPUTS) model_evaluate(&u->model);
        values[k] = u->model.v[references[k]];
    }
    return OK;
}

API F(fmi3SetFloat64)(void *instance, const Reference references[], size_t count, const double values[], size_t size)
{
    Unit *u = instance;
    if (size != count) return refused(u, "as many values as references are expected");
    for (size_t k = 0; k < count; ++k) {
        Reference r = references[k];
        bool own = (r >= FIRST_INPUT && r < FIRST_RATE) || (HAS_STEP && r == STEP && !u->initialized);
        if (!own) return refused(u, "only inputs, states and, before the start, parameters can be set");
        if (HAS_STEP && r == STEP && !(values[k] > 0)) return refused(u, "step must be above 0");
        u->model.v[r] = values[k];
    }
    u->model.stale = 1;
    return OK;
}

#define NO_SUCH(Type, type)                                                                                              \
    API F(fmi3Get##Type)(void *instance, const Reference references[], size_t count, type values[], size_t size)         \
    {                                                                                                                    \
        (void)references, (void)values, (void)size;                                                                      \
        return count ? refused(instance, "all variables are of type Float64") : OK;                                      \
    }                                                                                                                    \
    API F(fmi3Set##Type)(void *instance, const Reference references[], size_t count, const type values[], size_t size)   \
    {                                                                                                                    \
        (void)references, (void)values, (void)size;                                                                      \
        return count ? refused(instance, "all variables are of type Float64") : OK;                                      \
    }

typedef const char *String;
NO_SUCH(Float32, float)
NO_SUCH(Int8, int8_t)
NO_SUCH(UInt8, uint8_t)
NO_SUCH(Int16, int16_t)
NO_SUCH(UInt16, uint16_t)
NO_SUCH(Int32, int32_t)
NO_SUCH(UInt32, uint32_t)
NO_SUCH(Int64, int64_t)
NO_SUCH(UInt64, uint64_t)
NO_SUCH(Boolean, bool)
NO_SUCH(String, String)

API F(fmi3GetBinary)(void *instance, const Reference references[], size_t count, size_t sizes[], const uint8_t *values[],
                     size_t size)
{
    (void)references, (void)sizes, (void)values, (void)size;
    return count ? refused(instance, "all variables are of type Float64") : OK;
}

API F(fmi3SetBinary)(void *instance, const Reference references[], size_t count, const size_t sizes[],
                     const uint8_t *const values[], size_t size)
{
    (void)references, (void)sizes, (void)values, (void)size;
    return count ? refused(instance, "all variables are of type Float64") : OK;
}

API F(fmi3GetClock)(void *instance, const Reference references[], size_t count, bool values[])
{
    (void)references, (void)values;
    return count ? refused(instance, "there are no clocks") : OK;
}

API F(fmi3SetClock)(void *instance, const Reference references[], size_t count, const bool values[])
{
    (void)references, (void)values;
    return count ? refused(instance, "there are no clocks") : OK;
}

/* The state of the unit, which holds no pointers of its own ------------------------------------------------------------- */

API F(fmi3GetFMUState)(void *instance, void **state)
{
    Unit *u = instance;
    if (!*state) *state = malloc(sizeof u->model);
    if (!*state) return refused(u, "no memory is left");
    memcpy(*state, &u->model, sizeof u->model);
    return OK;
}

API F(fmi3SetFMUState)(void *instance, void *state)
{
    memcpy(&((Unit *)instance)->model, state, sizeof(Model));
    return OK;
}

API F(fmi3FreeFMUState)(void *instance, void **state)
{
    (void)instance;
    if (state) free(*state), *state = NULL;
    return OK;
}

API F(fmi3SerializedFMUStateSize)(void *instance, void *state, size_t *size)
{
    (void)instance, (void)state;
    *size = sizeof(Model);
    return OK;
}

API F(fmi3SerializeFMUState)(void *instance, void *state, uint8_t bytes[], size_t size)
{
    if (size != sizeof(Model)) return refused(instance, "the size is not that of a state");
    memcpy(bytes, state, size);
    return OK;
}

API F(fmi3DeserializeFMUState)(void *instance, const uint8_t bytes[], size_t size, void **state)
{
    if (size != sizeof(Model)) return refused(instance, "the size is not that of a state");
    if (!*state) *state = malloc(size);
    if (!*state) return refused(instance, "no memory is left");
    memcpy(*state, bytes, size);
    return OK;
}

API F(fmi3GetDirectionalDerivative)(void *instance, const Reference unknowns[], size_t count, const Reference knowns[],
                                    size_t others, const double seed[], size_t seeds, double result[], size_t results)
{
    Unit *u = instance;
    double d[VALUES] = {0};
    if (seeds != others || results != count) return refused(u, "as many values as references are expected");
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

API F(fmi3CompletedIntegratorStep)(void *instance, bool no_return, bool *event, bool *terminate)
{
    (void)instance, (void)no_return;
    *event = *terminate = false;
    return OK;
}

API F(fmi3SetTime)(void *instance, double time)
{
    ((Unit *)instance)->model.v[0] = time;
    return OK;
}

API F(fmi3SetContinuousStates)(void *instance, const double x[], size_t count)
{
    Unit *u = instance;
    if (count != STATES) return refused(u, "as many numbers as states are expected");
    memcpy(u->model.v + FIRST_STATE, x, count * sizeof(double));
    u->model.stale = 1;
    return OK;
}

API F(fmi3GetContinuousStates)(void *instance, double x[], size_t count)
{
    Unit *u = instance;
    if (count != STATES) return refused(u, "as many numbers as states are expected");
    memcpy(x, u->model.v + FIRST_STATE, count * sizeof(double));
    return OK;
}

API F(fmi3GetContinuousStateDerivatives)(void *instance, double rates[], size_t count)
{
    Unit *u = instance;
    if (count != STATES) return refused(u, "as many numbers as states are expected");
    model_evaluate(&u->model);
    memcpy(rates, u->model.v + FIRST_RATE, count * sizeof(double));
    for (size_t k = 0; k < count; ++k)
        if (!isfinite(rates[k])) return refused(u, "a rate is not finite");
    return OK;
}

API F(fmi3GetNominalsOfContinuousStates)(void *instance, double nominals[], size_t count)
{
    (void)instance;
    for (size_t k = 0; k < count; ++k) nominals[k] = 1;
    return OK;
}

API F(fmi3GetEventIndicators)(void *instance, double indicators[], size_t count)
{
    (void)indicators;
    return count ? refused(instance, "there are no event indicators") : OK;
}

API F(fmi3GetNumberOfEventIndicators)(void *instance, size_t *count) { return (void)instance, *count = 0, OK; }
API F(fmi3GetNumberOfContinuousStates)(void *instance, size_t *count) { return (void)instance, *count = STATES, OK; }

/* Co-simulation -------------------------------------------------------------------------------------------------------- */

API F(fmi3DoStep)(void *instance, double time, double h, bool no_return, bool *event, bool *terminate, bool *early,
                  double *reached)
{
    Unit *u = instance;
    (void)no_return;
    *event = *terminate = *early = false;
    *reached = time;
    if (!(h > 0)) return refused(u, "the step must be above 0");
    u->model.v[0] = time;
    if (model_advance(&u->model, h)) return refused(u, "a value is not finite after this step");
    *reached = u->model.v[0] = time + h;
    return OK;
}

API F(fmi3GetOutputDerivatives)(void *instance, const Reference references[], size_t count, const int32_t orders[],
                                double values[], size_t size)
{
    (void)references, (void)orders, (void)values, (void)size;
    return count ? refused(instance, "derivatives of outputs are not provided") : OK;
}

/* What is not provided, and not claimed in the description -------------------------------------------------------------- */

API F(fmi3GetNumberOfVariableDependencies)(void *instance, Reference reference, size_t *count)
{
    (void)reference, (void)count;
    return refused(instance, "dependencies are those of the description");
}

API F(fmi3GetVariableDependencies)(void *instance, Reference dependent, size_t elements[], Reference independents[],
                                   size_t others[], int kinds[], size_t count)
{
    (void)dependent, (void)elements, (void)independents, (void)others, (void)kinds, (void)count;
    return refused(instance, "dependencies are those of the description");
}

API F(fmi3GetAdjointDerivative)(void *instance, const Reference unknowns[], size_t a, const Reference knowns[], size_t b,
                                const double seed[], size_t c, double result[], size_t d)
{
    (void)unknowns, (void)a, (void)knowns, (void)b, (void)seed, (void)c, (void)result, (void)d;
    return refused(instance, "adjoint derivatives are not provided");
}

#define NO_CLOCK(name, ...)                                                                                              \
    API F(name)(void *instance, const Reference references[], size_t count, __VA_ARGS__)                                 \
    {                                                                                                                    \
        (void)references, (void)a, (void)b, (void)c;                                                                     \
        return count ? refused(instance, "there are no clocks") : OK;                                                    \
    }
NO_CLOCK(fmi3GetIntervalDecimal, double a[], int b[], void *c)
NO_CLOCK(fmi3GetIntervalFraction, uint64_t a[], uint64_t b[], int c[])
NO_CLOCK(fmi3GetShiftDecimal, double a[], void *b, void *c)
NO_CLOCK(fmi3GetShiftFraction, uint64_t a[], uint64_t b[], void *c)
NO_CLOCK(fmi3SetIntervalDecimal, const double a[], void *b, void *c)
NO_CLOCK(fmi3SetIntervalFraction, const uint64_t a[], const uint64_t b[], void *c)
NO_CLOCK(fmi3SetShiftDecimal, const double a[], void *b, void *c)
NO_CLOCK(fmi3SetShiftFraction, const uint64_t a[], const uint64_t b[], void *c)

API F(fmi3ActivateModelPartition)(void *instance, Reference clock, double time)
{
    (void)clock, (void)time;
    return refused(instance, "there are no clocks");
}
