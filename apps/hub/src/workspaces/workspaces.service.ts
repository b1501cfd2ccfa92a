import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { WorkspaceLabelReply } from '@parley/contracts/admin/workspaces';
import type { Visibility } from '@parley/contracts/hub/publication';
import { HubConfig } from '../config';
import { mayPublish } from '../publishing/visibility';
import { WorkspacesRepository } from './workspaces.repository';

/** Names and handles of workspaces, copied from admin. */
@Injectable()
export class WorkspacesService {
  constructor(
    private readonly client: ParleyClient,
    private readonly workspaces: WorkspacesRepository,
    private readonly config: HubConfig,
  ) {}

  /**
   * Asks admin for the current label: the handle and the operator flag decide under which names the workspace may
   * publish.
   */
  async labelOf(caller: WorkspaceCaller): Promise<WorkspaceLabelReply> {
    const label = await this.client.call(admin.workspaces.label, caller, { id: caller.workspace.id });
    await this.workspaces.saveLabel(label);
    const { operatorWorkspaceId } = this.config;
    return operatorWorkspaceId ? { ...label, isOperators: label.id === operatorWorkspaceId } : label;
  }

  /** Asks admin only for a change that may publish something; undefined for other changes. */
  async labelToPublish(
    caller: WorkspaceCaller,
    change: { visibility?: Visibility; public?: boolean },
  ): Promise<WorkspaceLabelReply | undefined> {
    return mayPublish(change) ? this.labelOf(caller) : undefined;
  }
}
