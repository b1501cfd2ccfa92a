import { join } from 'node:path';
import { Controller, Get, Param, Req, Res, UseGuards } from '@nestjs/common';
import { type ApiError, unavailable } from '@parley/contracts/errors';
import { Public } from '@parley/service/public';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TracedRequest } from '@parley/service/request-trace';
import { UnauthenticatedShare } from '@parley/service/unauthenticated-share';
import { GatewayConfig } from '../config';
import { RateLimitGuard } from '../rate-limits/rate-limit.guard';
import type { PreparedDocument } from '../static-files/prepared-document';
import { StaticFolder } from '../static-files/static-files';
import { WebchatOriginsService } from './webchat-origins.service';

const bundled = join(__dirname, '../../../../webchat');
/** Addresses of the widget are on pages of other people, so they never change: browsers ask for a newer file again. */
const fixedAddress = 'public, max-age=300';
/** The name contains a hash of the content. */
const hashedAddress = 'public, max-age=31536000, immutable';
const placeholder = 'PARLEY_WEBHOOK_ID';

/**
 * Content security policy of the full page. Messages show media of any address.
 * @param others origins of the platform that the page calls: of the chat endpoint, and of the content of files
 */
function policyOf(pages: readonly string[], others: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src https: http: data:',
    'media-src https: http:',
    `connect-src 'self' ${others.join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${pages.length > 0 ? pages.join(' ') : '*'}`,
  ].join('; ');
}

/** Web chat: the widget for other pages, and a page of its own for each bot. */
@Controller('webchat')
@Public()
@UseGuards(RateLimitGuard)
export class WebchatController {
  private readonly folder: StaticFolder;
  private readonly content: string[];

  constructor(
    private readonly origins: WebchatOriginsService,
    private readonly unauthenticated: UnauthenticatedShare,
    { webchatDir, contentUrl }: GatewayConfig,
  ) {
    this.folder = new StaticFolder(webchatDir ?? bundled);
    this.content = contentUrl ? [new URL(contentUrl).origin] : [];
  }

  @Get(['embed.js', 'page.css', 'licences.md', 'client-licences.md'])
  file(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer | undefined> {
    const name = request.url.replace(/^\/webchat\/|\?.*$/g, '');
    return this.unauthenticated.run(request, () => {
      const file = this.folder.findInNewest(name);
      return send(file, request, reply, fixedAddress);
    });
  }

  /** Module of the public client. Widgets of an earlier build ask for its client, for which the newest one stands in. */
  @Get('assets/:name')
  client(
    @Param('name') name: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | undefined> {
    return this.unauthenticated.run(request, () => {
      const file = this.folder.findInNewest(`assets/${name}`);
      return send(file ?? this.folder.findFirstIn('assets'), request, reply, file ? hashedAddress : 'no-cache');
    });
  }

  @Get(':webhookId')
  async page(
    @Param('webhookId') webhookId: string,
    @Req() request: TracedRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const page = this.folder.page();
    if (!page) throw notBuilt();
    const { pages, chat } = await this.origins.get(request, webhookId);
    return this.unauthenticated.run(request, async () => {
      void reply
        .type('text/html; charset=utf-8')
        .header('cache-control', 'no-cache')
        .header('content-security-policy', policyOf(pages, [chat, ...this.content]));
      // The form of the id, which the service of origins has checked, leaves no room for markup.
      return (await page).replaceAll(placeholder, webhookId);
    });
  }
}

function send(file: PreparedDocument | undefined, request: FastifyRequest, reply: FastifyReply, cacheControl: string) {
  if (!file) throw notBuilt();
  // The page that contains the widget may require it.
  void reply.header('cross-origin-resource-policy', 'cross-origin');
  return file.answer(request, reply, cacheControl);
}

function notBuilt(): ApiError {
  return unavailable('The web chat is being built. Try again in a moment; if this stays, run "npm run build".');
}
