import { account, workspace } from '../access';
import { JsonValue, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { PathParam } from '../query-fields';

export class PreferenceKey {
  @PathParam({ maxLength: 200 }) key!: string;
}

export class SetPreference extends PreferenceKey {
  /** New value; when absent, the preference is removed. */
  @Optional() @JsonValue({ maxBytes: 100 * 1024 }) value?: unknown;
}

export class Preference {
  /** Absent when the preference does not exist. */
  @Optional() @JsonValue() value?: unknown;
}

export const accountPreferences = {
  get: operation({
    subject: 'admin.accountPreferences.get',
    route: 'GET /v1/admin/account/preferences/{key}',
    summary: 'Gets a preference of the calling account.',
    access: account,
    input: PreferenceKey,
    output: Preference,
  }),
  set: operation({
    subject: 'admin.accountPreferences.set',
    route: 'POST /v1/admin/account/preferences/{key}',
    summary: 'Stores a preference of the calling account, or removes it when no value is given.',
    access: account,
    input: SetPreference,
    output: Empty,
  }),
};

export const workspacePreferences = {
  get: operation({
    subject: 'admin.workspacePreferences.get',
    route: 'GET /v1/admin/workspaces/preferences/{key}',
    summary: 'Gets a preference of the workspace.',
    access: workspace.read,
    input: PreferenceKey,
    output: Preference,
  }),
  set: operation({
    subject: 'admin.workspacePreferences.set',
    route: 'POST /v1/admin/workspaces/preferences/{key}',
    summary: 'Stores a preference of the workspace, or removes it when no value is given.',
    access: workspace.write,
    input: SetPreference,
    output: Empty,
  }),
};
