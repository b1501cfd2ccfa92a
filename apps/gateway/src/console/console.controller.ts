import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Controller, Get, Req, Res, UseGuards } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { Public } from '@parley/service/public';
import { UnauthenticatedShare } from '@parley/service/unauthenticated-share';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayConfig } from '../config';
import { RateLimitGuard } from '../rate-limits/rate-limit.guard';
import { StaticFolder } from '../static-files/static-files';

const base = '/console';
const bundled = join(__dirname, '../../../../console');
/** Stands in the built page where each response has a nonce of its own. */
const noncePlaceholder = 'PARLEY_NONCE';
const nonceBytes = 16;

/**
 * Content security policy: no inline script, and requests to the platform only. The component library adds style elements,
 * by nonce.
 * @param others origins of the platform besides that of the page
 */
function policyOf(nonce: string, others: string[]): string {
  return [
    "default-src 'self'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    ["connect-src 'self'", ...others].join(' '),
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const notBuilt = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="2">
<title>Parley console</title>
</head>
<body>
<h1>The console is being built …</h1>
<p>This page reloads itself. If it stays, run <code>npm run build</code>.</p>
</body>
</html>
`;

/** Web page of the platform. Paths that are not files are routes of the page itself. */
@Controller('console')
@Public()
@UseGuards(RateLimitGuard)
export class ConsoleController {
  private readonly folder: StaticFolder;
  private readonly others: string[];

  constructor(
    { consoleDir, contentUrl, chatUrl }: GatewayConfig,
    private readonly unauthenticated: UnauthenticatedShare,
  ) {
    this.folder = new StaticFolder(consoleDir ?? bundled);
    this.others = [contentUrl, chatUrl].flatMap((url) => (url ? [new URL(url).origin] : []));
  }

  @Get()
  page(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    return this.unauthenticated.run(request, () => this.showPage(reply));
  }

  @Get('*')
  fileOrPage(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | string | undefined> {
    return this.unauthenticated.run(request, () => this.showFileOrPage(request, reply));
  }

  private showFileOrPage(request: FastifyRequest, reply: FastifyReply): Promise<Buffer | string | undefined> {
    const name = request.url.slice(base.length + 1).replace(/\?.*$/, '');
    const isAsset = name.startsWith('assets/');
    // A page that was opened before a build requests its own files first.
    const file = this.folder.find(name) ?? (isAsset ? this.folder.findInNewest(name) : undefined);
    if (isAsset && !file) throw new ApiError('ResourceNotFound', `The console has no file "${name}". Reload the page.`);
    if (!file) return this.showPage(reply);
    return file.answer(request, reply, isAsset ? 'public, max-age=31536000, immutable' : 'no-cache');
  }

  private async showPage(reply: FastifyReply): Promise<string> {
    const page = this.folder.page();
    const nonce = randomBytes(nonceBytes).toString('base64');
    void reply
      .code(page ? 200 : 503)
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-cache')
      .header('content-security-policy', policyOf(nonce, this.others))
      .header('cross-origin-opener-policy', 'same-origin');
    return page ? (await page).replaceAll(noncePlaceholder, nonce) : notBuilt;
  }
}
