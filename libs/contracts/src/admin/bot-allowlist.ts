import { IsIn, IsString } from 'class-validator';
import { workspace } from '../access';
import { ListOf, MapOf, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { PathParam } from '../query-fields';

const settings = ['ALL_WORKSPACE_USERS', 'SELECTED_USERS'] as const;
export type AllowlistSetting = (typeof settings)[number];

export class AllowlistedBotId {
  @PathParam() botId!: string;
}

export class AllowedUser {
  /** Account id. */
  @IsString() id!: string;
}

/**
 * Members who may see and use a bot. The roles manager and above always may. Usage figures name every bot to all
 * members.
 */
export class BotAllowlist {
  @IsIn(settings) setting!: AllowlistSetting;

  /** Only applies while `setting` is `SELECTED_USERS`. */
  @ListOf(AllowedUser) users!: AllowedUser[];
}

export class UpdateBotAllowlist extends AllowlistedBotId {
  @Optional() @IsIn(settings) setting?: AllowlistSetting;

  /**
   * By account id: `true` adds a member of the workspace, `false` removes one. Members that are not named stay
   * unchanged.
   */
  @Optional() @MapOf(Boolean) users?: Record<string, boolean>;
}

export const botAllowlist = {
  get: operation({
    subject: 'admin.botAllowlist.get',
    route: 'GET /v1/admin/bots/{botId}/allowlist',
    summary: 'Gets the members of the workspace who may see and use a bot.',
    access: workspace.read,
    input: AllowlistedBotId,
    output: BotAllowlist,
  }),
  update: operation({
    subject: 'admin.botAllowlist.update',
    route: 'PUT /v1/admin/bots/{botId}/allowlist',
    summary: 'Changes which members of the workspace may see and use a bot. The roles manager and above always may.',
    access: workspace.manage,
    input: UpdateBotAllowlist,
    output: Empty,
  }),
};
