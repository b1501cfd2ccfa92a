import { IsIn, IsString } from 'class-validator';
import { workspace } from '../access';
import { ListOf, MapOf, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { PathParam } from '../query-fields';

const settings = ['ALL_WORKSPACE_USERS', 'SELECTED_USERS'] as const;
export type AllowlistSetting = (typeof settings)[number];

export class AllowlistedBotId {
  @PathParam()
  botId!: string;
}

/** A member of the workspace. */
export class AllowedUser {
  /** Of the account. */
  @IsString()
  id!: string;
}

/**
 * Who of the workspace may see and use a bot, besides managers and up, who always may. Figures of usage name every bot to
 * all members.
 */
export class BotAllowlist {
  @IsIn(settings)
  setting!: AllowlistSetting;

  /** They count while `setting` is `SELECTED_USERS`. */
  @ListOf(AllowedUser)
  users!: AllowedUser[];
}

export class UpdateBotAllowlist extends AllowlistedBotId {
  @Optional()
  @IsIn(settings)
  setting?: AllowlistSetting;

  /** By id of the account: `true` adds a member of the workspace, `false` takes one away. Others stay as they are. */
  @Optional()
  @MapOf(Boolean)
  users?: Record<string, boolean>;
}

export const botAllowlist = {
  get: operation({
    subject: 'admin.botAllowlist.get',
    route: 'GET /v1/admin/bots/{botId}/allowlist',
    summary: 'Says who of the workspace may see and use a bot.',
    access: workspace.read,
    input: AllowlistedBotId,
    output: BotAllowlist,
  }),
  update: operation({
    subject: 'admin.botAllowlist.update',
    route: 'PUT /v1/admin/bots/{botId}/allowlist',
    summary: 'Changes who of the workspace may see and use a bot. Managers and up always may.',
    access: workspace.manage,
    input: UpdateBotAllowlist,
    output: Empty,
  }),
};
