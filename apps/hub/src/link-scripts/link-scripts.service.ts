import { Injectable } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import type { InstallationLink } from '@parley/contracts/admin/installation-links';
import type { MakeLink } from '@parley/contracts/hub/link-scripts';
import { tenantOf } from '@parley/transport/envelope';
import { isWebLink } from '@parley/vrl/results';
import { VrlScriptsService } from '../scripts/vrl-scripts.service';
import { LinkScriptsRepository } from './link-scripts.repository';

@Injectable()
export class LinkScriptsService {
  constructor(
    private readonly integrations: LinkScriptsRepository,
    private readonly scripts: VrlScriptsService,
  ) {}

  /** Never throws because of the script. */
  async run(caller: Caller, { integrationId, configurationType, data }: MakeLink): Promise<InstallationLink> {
    const script = await this.integrations.findScript(integrationId, configurationType);
    if (script === undefined) return { link: null, problem: null };
    const done = await this.scripts.execute(tenantOf(caller), { script, data });
    if (done.problem !== undefined) return { link: null, problem: done.problem };
    if (isWebLink(done.result)) return { link: done.result, problem: null };
    return { link: null, problem: 'The script returns no http:// or https:// address of at most 8,000 characters.' };
  }
}
