import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { notFound } from '@parley/contracts/errors';
import { hub } from '@parley/contracts/hub/hub';
import { InterfaceDefinition } from '@parley/contracts/hub/interface-definition';
import type {
  CreateInterface,
  InterfaceId,
  InterfaceReply,
  Interfaces,
  UpdateInterface,
} from '@parley/contracts/hub/interfaces';
import type { ListPublications, PublicationName } from '@parley/contracts/hub/publication';
import { Database } from '@parley/persistence/database';
import { Outbox } from '@parley/events/outbox';
import { audit } from '../publishing/audit';
import { checkDefinition } from '../publishing/check-definition';
import { changeLabels, newLabels } from '../publishing/labels';
import { checkName } from '../publishing/publication-name';
import { PublicationsRepository, type Scope } from '../publishing/publications.repository';
import { requirePublisher } from '../publishing/publisher';
import { checkSize } from '../publishing/size';
import { checkVersion } from '../publishing/versions';
import { WorkspacesService } from '../workspaces/workspaces.service';
import { changeDefinition, type InterfaceRow, toInterface, toInterfaceEntry } from './interface.entity';
import { InterfacesRepository } from './interfaces.repository';

@Injectable()
export class InterfacesService {
  constructor(
    private readonly database: Database,
    private readonly interfaces: InterfacesRepository,
    private readonly publications: PublicationsRepository,
    private readonly workspaces: WorkspacesService,
    private readonly outbox: Outbox,
  ) {}

  async create(caller: WorkspaceCaller, input: CreateInterface): Promise<InterfaceReply> {
    if (input.public) requirePublisher(caller);
    const { handle, isOperators } = await this.workspaces.labelOf(caller);
    checkName(input.name, handle);
    checkVersion(input.version);
    const row = {
      workspace_id: caller.workspace.id,
      name: input.name,
      version: input.version,
      visibility: visibilityOf(input.public ?? false),
      ...changeLabels(input, newLabels(input.name)),
      definition: changeDefinition(input),
    };
    checkDefinition(InterfaceDefinition, row.definition);
    checkSize(row.definition);
    return this.database.transaction(async (tx) => {
      await this.publications.claimName(tx, 'interface', row, { isOperators });
      await this.publications.requireVersionRoom(tx, 'interface', row);
      const created = await this.interfaces.insertInterface(tx, row, input.sdkVersion);
      await audit(this.outbox, tx, caller, {
        operation: hub.interfaces.create,
        id: created.id,
        name: created.name,
        value: `${created.visibility} ${created.version}`,
      });
      return { interface: toInterface(created) };
    });
  }

  async get(scope: Scope, { id }: InterfaceId): Promise<InterfaceReply> {
    const row = await this.interfaces.findInterfaceById(this.database, scope, id);
    if (!row) throw notFound('interface', id);
    return { interface: toInterface(row) };
  }

  /**
   * Falls back from the workspace's interfaces to public ones: command line tools up to 0.8 look up implemented
   * interfaces only here.
   */
  async getVisibleByName(workspaceId: string, publication: PublicationName): Promise<InterfaceReply> {
    const { found } = await this.publications.findReferenced(this.database, 'interface', workspaceId, {
      found: publication,
    });
    if (!found) throw notFound('interface', `${publication.name} ${publication.version}`);
    return this.get({ visibleTo: workspaceId }, found);
  }

  async getPublicByName(publication: PublicationName): Promise<InterfaceReply> {
    const found = await this.publications.findByNameAndVersion(this.database, 'interface', 'everybody', publication);
    if (!found) throw notFound('interface', `${publication.name} ${publication.version}`);
    return this.get('everybody', found);
  }

  async list(scope: Scope, query: ListPublications): Promise<Interfaces> {
    const { rows, nextToken } = await this.publications.listNewestFirst('interface', scope, query);
    return { interfaces: rows.map(toInterfaceEntry), meta: { nextToken } };
  }

  async update(caller: WorkspaceCaller, input: UpdateInterface): Promise<InterfaceReply> {
    const label = await this.workspaces.labelToPublish(caller, input);
    return this.database.transaction(async (tx) => {
      const old = await this.interfaces.findInterfaceForUpdate(tx, caller.workspace.id, input.id);
      if (!old) throw notFound('interface', input.id);
      const row: InterfaceRow = {
        ...old,
        visibility: input.public === undefined ? old.visibility : visibilityOf(input.public),
        ...changeLabels(input, old),
        definition: changeDefinition(input, old.definition),
      };
      if (old.visibility !== 'private' || row.visibility !== 'private') requirePublisher(caller);
      if (old.visibility === 'private' && label) checkName(row.name, label.handle);
      checkDefinition(InterfaceDefinition, row.definition);
      checkSize(row.definition);
      if (old.visibility === 'private') await this.publications.claimName(tx, 'interface', row, { ...label });
      const updated = await this.interfaces.updateInterface(tx, row, input.sdkVersion);
      await audit(this.outbox, tx, caller, {
        operation: hub.interfaces.update,
        id: updated.id,
        name: updated.name,
        value: `${updated.visibility} ${updated.version}`,
      });
      return { interface: toInterface(updated) };
    });
  }

  async delete(caller: WorkspaceCaller, { id }: InterfaceId) {
    await this.database.transaction(async (tx) => {
      const row = await this.interfaces.findInterfaceForUpdate(tx, caller.workspace.id, id);
      if (!row) throw notFound('interface', id);
      if (row.visibility !== 'private') requirePublisher(caller);
      await this.interfaces.deleteInterface(tx, row);
      await audit(this.outbox, tx, caller, { operation: hub.interfaces.delete, id, name: row.name });
    });
    return {};
  }
}

function visibilityOf(isPublic: boolean): 'public' | 'private' {
  return isPublic ? 'public' : 'private';
}
