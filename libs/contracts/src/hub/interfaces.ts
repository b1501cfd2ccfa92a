import { IsBoolean, IsString, Length, MaxLength } from 'class-validator';
import { account, workspace } from '../access';
import { ActionDefinition, EntityDefinition, EventDefinition } from '../definition';
import { ListOf, MapOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta, PageQuery } from '../paging';
import { PathParam, QueryString } from '../query-fields';
import { InterfaceChannel, InterfaceDraft, NameTemplate } from './interface-definition';

export class CreateInterface extends InterfaceDraft {
  /** With the handle of the workspace and a slash before it, or without. */
  @IsString()
  @Length(1, 200)
  name!: string;

  /** Semver. */
  @IsString()
  @MaxLength(200)
  version!: string;
}

export class InterfaceId {
  @PathParam()
  id!: string;
}

export class UpdateInterface extends InterfaceDraft {
  @PathParam()
  id!: string;
}

export class InterfaceName {
  @PathParam()
  name!: string;

  /** Exact, a semver range, or `latest`: the highest that is no pre-release. */
  @PathParam()
  version!: string;
}

/** With a name, all of its versions come in one page. */
export class ListInterfaces extends PageQuery {
  @QueryString({ maxLength: 200 })
  name?: string;

  /** Exact, a semver range, or `latest`. */
  @QueryString({ maxLength: 200 })
  version?: string;
}

/** An interface as lists show it. */
export class InterfaceEntry {
  @IsString()
  id!: string;

  @IsString()
  createdAt!: string;

  @IsString()
  updatedAt!: string;

  @IsString()
  name!: string;

  @IsString()
  version!: string;

  @IsString()
  title!: string;

  @IsString()
  description!: string;

  /** Empty, or a `data:` URL. */
  @IsString()
  iconUrl!: string;

  /** Empty, or a `data:` URL. */
  @IsString()
  readmeUrl!: string;

  @IsBoolean()
  public!: boolean;
}

export class Interface extends InterfaceEntry {
  @MapOf(EntityDefinition)
  entities!: Record<string, EntityDefinition>;

  @MapOf(EventDefinition)
  events!: Record<string, EventDefinition>;

  @MapOf(ActionDefinition)
  actions!: Record<string, ActionDefinition>;

  @MapOf(InterfaceChannel)
  channels!: Record<string, InterfaceChannel>;

  @Optional()
  @Nested(NameTemplate)
  nameTemplate?: NameTemplate;

  @Optional()
  @MapOf(String)
  attributes?: Record<string, string>;
}

export class InterfaceReply {
  @Nested(Interface)
  interface!: Interface;
}

export class Interfaces {
  @ListOf(InterfaceEntry)
  interfaces!: InterfaceEntry[];

  @Nested(PageMeta)
  meta!: PageMeta;
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
    summary: 'Gets an interface of the workspace by its name and version.',
    access: workspace.read,
    input: InterfaceName,
    output: InterfaceReply,
  }),
  update: operation({
    subject: 'hub.interfaces.update',
    route: 'PUT /v1/admin/interfaces/{id}',
    summary: 'Changes an interface of the workspace, entry by entry.',
    access: workspace.write,
    input: UpdateInterface,
    output: InterfaceReply,
    bodyLimitBytes,
  }),
  delete: operation({
    subject: 'hub.interfaces.delete',
    route: 'DELETE /v1/admin/interfaces/{id}',
    summary: 'Deletes an interface that nothing refers to.',
    access: workspace.write,
    input: InterfaceId,
    output: Empty,
  }),
  list: operation({
    subject: 'hub.interfaces.list',
    route: 'GET /v1/admin/interfaces',
    summary: 'Lists the interfaces of the workspace, newest first.',
    access: workspace.read,
    input: ListInterfaces,
    output: Interfaces,
  }),
};

/** Of every workspace. */
export const publicInterfaces = {
  list: operation({
    subject: 'hub.publicInterfaces.list',
    route: 'GET /v1/admin/hub/interfaces',
    summary: 'Lists the public interfaces, newest first.',
    access: account,
    input: ListInterfaces,
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
    input: InterfaceName,
    output: InterfaceReply,
  }),
};
