import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Controller, Get, Param, Req, Res, UseGuards } from '@nestjs/common';
import { type ApiError, unavailable } from '@parley/contracts/errors';
import { Public } from '@parley/service/public';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TracedRequest } from '@parley/service/request-trace';
import { GatewayConfig } from '../config';
import { RateLimitGuard } from '../rate-limits/rate-limit.guard';
import { acceptedCopy, builtAt, listStaticFiles, type StaticFile } from '../static-files/static-files';
import { WebchatOriginsService } from './webchat-origins.service';

const bundled = join(__dirname, '../../../../webchat');
/** Addresses of the widget are on pages of other people, so they never change: browsers ask for a newer file again. */
const cacheControl = 'public, max-age=300';
const placeholder = 'PARLEY_WEBHOOK_ID';

/** Content security policy of the full page. Messages show media of any address. */
function policyOf(pages: readonly string[], chat: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src https: http: data:',
    'media-src https: http:',
    `connect-src 'self' ${chat}`,
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
  private readonly folder: string;
  private files = new Map<string, StaticFile>();
  private listedAt?: number;

  constructor(
    private readonly origins: WebchatOriginsService,
    { webchatDir }: GatewayConfig,
  ) {
    this.folder = webchatDir ?? bundled;
  }

  @Get(['embed.js', 'page.css'])
  async file(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Buffer> {
    const name = request.url.replace(/^\/webchat\/|\?.*$/g, '');
    const file = this.listAgain().get(name);
    if (!file) throw notBuilt();
    const { path, encoding } = acceptedCopy(file, request.headers['accept-encoding']);
    void reply
      .type(file.contentType)
      .header('vary', 'accept-encoding')
      .header('cache-control', cacheControl)
      // The page that contains the widget may require it.
      .header('cross-origin-resource-policy', 'cross-origin');
    if (encoding) void reply.header('content-encoding', encoding);
    return readFile(path);
  }

  @Get(':webhookId')
  async page(
    @Param('webhookId') webhookId: string,
    @Req() request: TracedRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    if (builtAt(this.folder) === undefined) throw notBuilt();
    const { pages, chat } = await this.origins.get(request, webhookId);
    void reply
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-cache')
      .header('content-security-policy', policyOf(pages, chat));
    // The form of the id, which the service of origins has checked, leaves no room for markup.
    return (await readFile(join(this.folder, 'index.html'), 'utf8')).replaceAll(placeholder, webhookId);
  }

  private listAgain(): Map<string, StaticFile> {
    const at = builtAt(this.folder);
    if (at !== undefined && at !== this.listedAt) {
      this.files = listStaticFiles(this.folder);
      this.listedAt = at;
    }
    return this.files;
  }
}

function notBuilt(): ApiError {
  return unavailable('The web chat is being built. Try again in a moment; if this stays, run "npm run build".');
}
