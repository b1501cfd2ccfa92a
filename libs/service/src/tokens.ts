/** Injects the Platform, which is an interface and so has no class to be asked for by. */
export const platformToken = Symbol('parley:platform');

/** Injects the MetricsSettings of the process. */
export const metricsSettings = Symbol('parley:metrics-settings');
