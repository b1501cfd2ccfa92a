import { IsBoolean, IsIn, IsString, Length, MaxLength } from 'class-validator';
import { account, workspace } from '../access';
import { maxCodeBytes, withCode } from '../code';
import { ActionDefinition, EventDefinition, StateDefinition, TagDefinitions, type TagDefinition } from '../definition';
import { ListOf, MapOf, MaxBytes, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta } from '../paging';
import { PathParam, QueryMap } from '../query-fields';
import { DependenciesDraft, PluginConfiguration, PluginDefinitionDraft } from './plugin-definition';
import {
  type LifecycleStatus,
  lifecycleStatuses,
  ListPublications,
  PublicationLabels,
  PublicationName,
  type Visibility,
  visibilities,
} from './publication';

/** Plugin to create or update, without its code. Absent fields stay unchanged, or are empty in a new plugin. */
export class PluginDraft extends PluginDefinitionDraft {
  @Optional() @Nested(DependenciesDraft) dependencies?: DependenciesDraft;

  /** Every value but `private` requires the role manager. */
  @Optional() @IsIn(visibilities) visibility?: Visibility;
}

export class PluginCode {
  @IsString() @MaxBytes(maxCodeBytes) node!: string;
  @IsString() @MaxBytes(maxCodeBytes) browser!: string;
}

export class PluginCodeDraft {
  @Optional() @IsString() @MaxBytes(maxCodeBytes) node?: string;
  @Optional() @IsString() @MaxBytes(maxCodeBytes) browser?: string;
}

export class CreatePlugin extends PluginDraft {
  /** `name`, or `handle/name` with the handle of the workspace. */
  @IsString() @Length(1, 200) name!: string;

  /** Semver. */
  @IsString() @MaxLength(200) version!: string;

  @Nested(PluginCode) code!: PluginCode;
}

export class PluginId {
  @PathParam() id!: string;
}

export class UpdatePlugin extends PluginDraft {
  @PathParam() id!: string;
  @Optional() @Nested(PluginCodeDraft) code?: PluginCodeDraft;
}

export class DereferencePlugin extends PluginId {
  /** Version id of the implementing integration, by alias of each interface that the plugin depends on. */
  @QueryMap() interfaces?: Record<string, string>;
}

export class PluginPlatform extends PluginId {
  @PathParam() platform!: string;
}

export class PluginEntry extends PublicationLabels {
  /** Empty, or a `data:` URL. */
  @IsString() readmeUrl!: string;

  @IsBoolean() public!: boolean;
  @IsIn(visibilities) visibility!: Visibility;
  @IsIn(lifecycleStatuses) lifecycleStatus!: LifecycleStatus;
}

export class Dependency {
  /** Version id. */
  @IsString() id!: string;

  @IsString() name!: string;
  @IsString() version!: string;
}

export class Dependencies {
  @MapOf(Dependency) interfaces!: Record<string, Dependency>;
  @MapOf(Dependency) integrations!: Record<string, Dependency>;
}

export class Plugin extends PluginEntry {
  @Nested(PluginConfiguration) configuration!: PluginConfiguration;
  @MapOf(StateDefinition) states!: Record<string, StateDefinition>;
  @MapOf(EventDefinition) events!: Record<string, EventDefinition>;
  @MapOf(ActionDefinition) actions!: Record<string, ActionDefinition>;
  @Nested(Dependencies) dependencies!: Dependencies;
  @Nested(TagDefinitions) user!: { tags: Record<string, TagDefinition> };
  @Nested(TagDefinitions) conversation!: { tags: Record<string, TagDefinition> };
  @Nested(TagDefinitions) message!: { tags: Record<string, TagDefinition> };
  @Optional() @MapOf(String) attributes?: Record<string, string>;
}

export class PluginReply {
  @Nested(Plugin) plugin!: Plugin;
}

export class Plugins {
  @ListOf(PluginEntry) plugins!: PluginEntry[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class PluginCodeReply {
  @IsString() code!: string;
}

export const plugins = {
  create: operation({
    subject: 'hub.plugins.create',
    route: 'POST /v1/admin/plugins',
    summary: 'Creates a version of a plugin in the workspace.',
    access: workspace.write,
    input: CreatePlugin,
    isWorkspaceLabelled: true,
    output: PluginReply,
    ...withCode,
  }),
  get: operation({
    subject: 'hub.plugins.get',
    route: 'GET /v1/admin/plugins/{id}',
    summary: 'Gets a plugin of the workspace.',
    access: workspace.read,
    input: PluginId,
    output: PluginReply,
  }),
  getByName: operation({
    subject: 'hub.plugins.getByName',
    route: 'GET /v1/admin/plugins/{name}/{version}',
    summary: 'Gets a plugin of the workspace by its name and version.',
    access: workspace.read,
    input: PublicationName,
    output: PluginReply,
  }),
  getDereferenced: operation({
    subject: 'hub.plugins.getDereferenced',
    route: 'GET /v1/admin/plugins/{id}/dereferenced',
    summary:
      'Gets a plugin of the workspace, with the entities of its interfaces replaced by those of the given integrations.',
    access: workspace.read,
    input: DereferencePlugin,
    output: PluginReply,
  }),
  getCode: operation({
    subject: 'hub.plugins.getCode',
    route: 'GET /v1/admin/plugins/{id}/code/{platform}',
    summary: 'Gets the code of a plugin of the workspace, for `node` or `browser`.',
    access: workspace.read,
    input: PluginPlatform,
    output: PluginCodeReply,
    timeoutMs: withCode.timeoutMs,
  }),
  update: operation({
    subject: 'hub.plugins.update',
    route: 'PUT /v1/admin/plugins/{id}',
    summary: 'Updates a plugin of the workspace. Entries are merged by name.',
    access: workspace.write,
    input: UpdatePlugin,
    isWorkspaceLabelled: true,
    output: PluginReply,
    ...withCode,
  }),
  delete: operation({
    subject: 'hub.plugins.delete',
    route: 'DELETE /v1/admin/plugins/{id}',
    summary: 'Deletes a plugin that no bot has installed.',
    access: workspace.write,
    input: PluginId,
    output: Empty,
  }),
  list: operation({
    subject: 'hub.plugins.list',
    route: 'GET /v1/admin/plugins',
    summary: 'Lists the plugins of the workspace, newest first.',
    access: workspace.read,
    input: ListPublications,
    output: Plugins,
  }),
};

/** Public plugins of all workspaces. Unlisted ones are found by id or name only. */
export const publicPlugins = {
  list: operation({
    subject: 'hub.publicPlugins.list',
    route: 'GET /v1/admin/hub/plugins',
    summary: 'Lists the public plugins, newest first.',
    access: account,
    input: ListPublications,
    output: Plugins,
  }),
  get: operation({
    subject: 'hub.publicPlugins.get',
    route: 'GET /v1/admin/hub/plugins/{id}',
    summary: 'Gets a public plugin.',
    access: account,
    input: PluginId,
    output: PluginReply,
  }),
  getByName: operation({
    subject: 'hub.publicPlugins.getByName',
    route: 'GET /v1/admin/hub/plugins/{name}/{version}',
    summary: 'Gets a public plugin by its name and version.',
    access: account,
    input: PublicationName,
    output: PluginReply,
  }),
  getDereferenced: operation({
    subject: 'hub.publicPlugins.getDereferenced',
    route: 'GET /v1/admin/hub/plugins/{id}/dereferenced',
    summary:
      'Gets a public plugin, with the entities of its interfaces replaced by those of the given public integrations.',
    access: account,
    input: DereferencePlugin,
    output: PluginReply,
  }),
  getCode: operation({
    subject: 'hub.publicPlugins.getCode',
    route: 'GET /v1/admin/hub/plugins/{id}/code/{platform}',
    summary: 'Gets the code of a public plugin, for `node` or `browser`.',
    access: account,
    input: PluginPlatform,
    output: PluginCodeReply,
    timeoutMs: withCode.timeoutMs,
  }),
};
