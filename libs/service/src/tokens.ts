/** Injection token of Platform, which is an interface. */
export const platformToken = Symbol('parley:platform');

export const metricsSettings = Symbol('parley:metrics-settings');
