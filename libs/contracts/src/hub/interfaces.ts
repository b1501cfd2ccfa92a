import { IsBoolean, IsString, Length, MaxLength } from 'class-validator';
import { account, workspace } from '../access';
import { ActionDefinition, EntityDefinition, EventDefinition } from '../definition';
import { ListOf, MapOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta } from '../paging';
import { PathParam } from '../query-fields';
import { InterfaceChannel, InterfaceDraft, NameTemplate } from './interface-definition';
import { ListPublications, PublicationLabels, PublicationName } from './publication';

export class CreateInterface extends InterfaceDraft {
  /** `name`, or `handle/name` with the handle of the workspace. */
  @IsString() @Length(1, 200) name!: string;

  /** Semver. */
  @IsString() @MaxLength(200) version!: string;
}

export class InterfaceId {
  @PathParam() id!: string;
}

export class UpdateInterface extends InterfaceDraft {
  @PathParam() id!: string;
}

export class InterfaceEntry extends PublicationLabels {
  /** Empty, or a `data:` URL. */
  @IsString() readmeUrl!: string;

  @IsBoolean() public!: boolean;
}

export class Interface extends InterfaceEntry {
  @MapOf(EntityDefinition) entities!: Record<string, EntityDefinition>;
  @MapOf(EventDefinition) events!: Record<string, EventDefinition>;
  @MapOf(ActionDefinition) actions!: Record<string, ActionDefinition>;
  @MapOf(InterfaceChannel) channels!: Record<string, InterfaceChannel>;
  @Optional() @Nested(NameTemplate) nameTemplate?: NameTemplate;
  @Optional() @MapOf(String) attributes?: Record<string, string>;
}

export class InterfaceReply {
  @Nested(Interface) interface!: Interface;
}

export class Interfaces {
  @ListOf(InterfaceEntry) interfaces!: InterfaceEntry[];
  @Nested(PageMeta) meta!: PageMeta;
}

/** Room for many schemas of 100 KB. */
const bodyLimitBytes = 16_000_000;

export const interfaces = {
  create: operation({
    subject: 'hub.interfaces.create',
    route: 'POST /v1/admin/interfaces',
    summary: 'Creates a version of an interface in the workspace.',
    access: workspace.write,
    input: CreateInterface,
    isWorkspaceLabelled: true,
    output: InterfaceReply,
    bodyLimitBytes,
  }),
  get: operation({
    subject: 'hub.interfaces.get',
    route: 'GET /v1/admin/interfaces/{id}',
    summary: 'Gets an interface of the workspace.',
    access: workspace.read,
    input: InterfaceId,
    output: InterfaceReply,
  }),
  getByName: operation({
    subject: 'hub.interfaces.getByName',
    route: 'GET /v1/admin/interfaces/{name}/{version}',
    summary: 'Gets an interface by its name and version: an interface of the workspace, or else a public interface.',
    access: workspace.read,
    input: PublicationName,
    output: InterfaceReply,
  }),
  update: operation({
    subject: 'hub.interfaces.update',
    route: 'PUT /v1/admin/interfaces/{id}',
    summary: 'Updates an interface of the workspace. Entries are merged by name.',
    access: workspace.write,
    input: UpdateInterface,
    isWorkspaceLabelled: true,
    output: InterfaceReply,
    bodyLimitBytes,
  }),
  delete: operation({
    subject: 'hub.interfaces.delete',
    route: 'DELETE /v1/admin/interfaces/{id}',
    summary: 'Deletes an interface. No integration or plugin may refer to it.',
    access: workspace.write,
    input: InterfaceId,
    output: Empty,
  }),
  list: operation({
    subject: 'hub.interfaces.list',
    route: 'GET /v1/admin/interfaces',
    summary: 'Lists the interfaces of the workspace, newest first.',
    access: workspace.read,
    input: ListPublications,
    output: Interfaces,
  }),
};

export const publicInterfaces = {
  list: operation({
    subject: 'hub.publicInterfaces.list',
    route: 'GET /v1/admin/hub/interfaces',
    summary: 'Lists the public interfaces, newest first.',
    access: account,
    input: ListPublications,
    output: Interfaces,
  }),
  get: operation({
    subject: 'hub.publicInterfaces.get',
    route: 'GET /v1/admin/hub/interfaces/{id}',
    summary: 'Gets a public interface.',
    access: account,
    input: InterfaceId,
    output: InterfaceReply,
  }),
  getByName: operation({
    subject: 'hub.publicInterfaces.getByName',
    route: 'GET /v1/admin/hub/interfaces/{name}/{version}',
    summary: 'Gets a public interface by its name and version.',
    access: account,
    input: PublicationName,
    output: InterfaceReply,
  }),
};
