import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsString,
  IsUrl,
  Length,
  Matches,
  MaxLength,
} from 'class-validator';
import { anyone, service, workspace } from '../access';
import { ListOf, Optional, OrNull } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { PathParam, QueryChoice } from '../query-fields';

const snippetTypes = ['preconfigured', 'configurable', 'fullscreen', 'sharableUrl'] as const;
export type SnippetType = (typeof snippetTypes)[number];

export const colorSchemes = ['auto', 'light', 'dark'] as const;
export type ColorScheme = (typeof colorSchemes)[number];

export class WebchatBotId {
  @PathParam() botId!: string;
}

export class GetBotWebchat {
  @PathParam() id!: string;

  /**
   * `preconfigured`: element with the stored settings. `configurable`: element with all attributes. `fullscreen`: frame
   * of the full page. `sharableUrl`: address of the full page.
   */
  @QueryChoice(snippetTypes, { required: true }) type!: SnippetType;
}

export class WebchatSnippet {
  /** HTML to paste into a page, or an address. */
  @IsString() code!: string;
}

export class StartingChoice {
  /** Text on the button. */
  @IsString() @Length(1, 100) label!: string;

  /** Text that the visitor sends by it. */
  @IsString() @Length(1, 1000) value!: string;
}

/** Appearance of a web chat. Absent fields have the defaults of the widget. */
export class WebchatAppearance {
  /** Default: the name of the bot. */
  @Optional() @IsString() @Length(1, 100) title?: string;

  @Optional() @IsString() @MaxLength(200) description?: string;

  @Optional()
  @IsUrl({ protocols: ['http', 'https'], require_protocol: true, require_tld: false })
  @MaxLength(2000)
  avatarUrl?: string;

  /** Color of buttons and of the visitor's messages. */
  @Optional()
  @Matches(/^#[0-9a-f]{6}$/i, { message: '$property must be a color such as #1864ab' })
  primaryColor?: string;

  /** Default: `auto`, that of the visitor's system. */
  @Optional() @IsIn(colorSchemes) colorScheme?: ColorScheme;

  /** Shown above the first message. It is no message of the bot. */
  @Optional() @IsString() @MaxLength(1000) greeting?: string;

  /** Buttons that start a conversation. */
  @Optional() @ListOf(StartingChoice, { maxItems: 10 }) startingChoices?: StartingChoice[];

  /** Whether visitors may send files. Default: no. */
  @Optional() @IsBoolean() allowsUploads?: boolean;
}

export class WebchatSettings extends WebchatAppearance {
  /**
   * Origins whose pages may show the web chat, such as `https://www.example.com`. Without any, all may. Only browsers
   * respect it: it controls no access.
   */
  @Optional()
  @IsArray()
  @ArrayMaxSize(50)
  @Matches(/^https?:\/\/[a-z0-9.-]+(:\d{1,5})?$/, {
    each: true,
    message: '$property must be a list of origins in lower case such as https://www.example.com',
  })
  allowedOrigins?: string[];
}

export class UpdateWebchatSettings extends WebchatSettings {
  @PathParam() botId!: string;
}

export class WebchatWebhookId {
  /** Webhook id of the bot's chat integration. */
  @PathParam() webhookId!: string;
}

export class PublicWebchat extends WebchatAppearance {
  @IsString() override title!: string;

  /** Address of the chat endpoint. */
  @IsString() chatUrl!: string;
}

export class WebchatWorkspace {
  @IsString() workspaceId!: string;
}

export class WebchatAddress {
  /** Address of the full page; null without a bot that has a web chat. */
  @OrNull() @IsString() url!: string | null;
}

export class WebchatOrigins {
  /** Origins whose pages may show the web chat, that of the platform among them. All may when it is empty. */
  @IsString({ each: true }) pages!: string[];

  /** Origin of the chat endpoint. */
  @IsString() chat!: string;
}

export class UploadQuota {
  /** Quota storage_count of the workspace, in bytes. */
  @IsInt() storageQuota!: number;
}

export const webchats = {
  getSnippet: operation({
    subject: 'admin.webchats.getSnippet',
    route: 'GET /v1/admin/bots/{id}/webchat',
    summary: 'Gets the snippet that puts the web chat of a bot on a page, or its address.',
    access: workspace.read,
    input: GetBotWebchat,
    output: WebchatSnippet,
  }),
  getSettings: operation({
    subject: 'admin.webchats.getSettings',
    route: 'GET /v1/admin/bots/{botId}/webchat/settings',
    summary: 'Gets the settings of the web chat of a bot.',
    access: workspace.read,
    isOwn: true,
    input: WebchatBotId,
    output: WebchatSettings,
  }),
  updateSettings: operation({
    subject: 'admin.webchats.updateSettings',
    route: 'PUT /v1/admin/bots/{botId}/webchat/settings',
    summary: 'Replaces the settings of the web chat of a bot. Absent fields get their defaults.',
    access: workspace.write,
    isOwn: true,
    input: UpdateWebchatSettings,
    output: Empty,
  }),
  show: operation({
    subject: 'admin.webchats.show',
    route: 'GET /webchat/{webhookId}/settings',
    summary: 'Gets the appearance of a web chat and the address of its chat endpoint.',
    access: anyone,
    isOwn: true,
    input: WebchatWebhookId,
    output: PublicWebchat,
  }),
  findNewest: operation({
    subject: 'admin.webchats.findNewest',
    summary: 'Finds the web chat of the newest bot of a workspace.',
    access: service,
    input: WebchatWorkspace,
    output: WebchatAddress,
  }),
  requireUploads: operation({
    subject: 'admin.webchats.requireUploads',
    summary: 'Gets the quota for files of visitors. Forbidden unless the web chat accepts files.',
    access: service,
    input: WebchatWebhookId,
    output: UploadQuota,
  }),
  getOrigins: operation({
    subject: 'admin.webchats.getOrigins',
    summary: 'Gets the origins whose pages may show a web chat, and the origin of its chat endpoint.',
    access: service,
    input: WebchatWebhookId,
    output: WebchatOrigins,
  }),
};
