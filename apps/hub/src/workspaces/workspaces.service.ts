import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { CallerLabel } from '@parley/contracts/caller';
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

  /** Current label: the handle and the operator flag decide under which names the workspace may publish. */
  async labelOf(caller: WorkspaceCaller): Promise<CallerLabel> {
    const label = caller.workspace.label ?? (await this.askForLabel(caller));
    await this.workspaces.saveLabel(label);
    const { operatorWorkspaceId } = this.config;
    return operatorWorkspaceId ? { ...label, isOperators: label.id === operatorWorkspaceId } : label;
  }

  /** Label for a change that may publish something; undefined for other changes. */
  async labelToPublish(
    caller: WorkspaceCaller,
    change: { visibility?: Visibility; public?: boolean },
  ): Promise<CallerLabel | undefined> {
    return mayPublish(change) ? this.labelOf(caller) : undefined;
  }

  /** For a gateway or an admin of 0.2.0, which send no label. */
  private askForLabel(caller: WorkspaceCaller): Promise<CallerLabel> {
    return this.client.call(admin.workspaces.label, caller, { id: caller.workspace.id });
  }
}
