import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Controller, Get, Header, Req, Res, UseGuards } from '@nestjs/common';
import { openThreadPool } from '@parley/background/thread-pool';
import { Public } from '@parley/service/public';
import { UnauthenticatedShare } from '@parley/service/unauthenticated-share';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RateLimitGuard } from '../rate-limits/rate-limit.guard';
import { PreparedDocument } from '../static-files/prepared-document';

const compress = promisify(gzip);
const assets = dirname(require.resolve('swagger-ui-dist/package.json'));
/** Low thread priority: on few cores, requests go first. */
const niceIncrement = 10;

// `validatorUrl: null`: the page would send its address to a validator on the internet otherwise.
const script = "SwaggerUIBundle({ url: '/openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null })";
/** Content security policy of the page. Swagger UI has inline styles. */
const policy = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Parley API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="docs"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script>${script}</script>
  </body>
</html>
`;

/** Changes with the version of the platform. */
const cacheControl = 'no-cache';

@Controller()
@Public()
@UseGuards(RateLimitGuard)
export class DocsController {
  /** Written by the first request, not at the start. */
  private readonly openApiDocument = compressible('application/json; charset=utf-8', writeOpenApiDocument);
  private readonly page = compressible('text/html; charset=utf-8', () => Promise.resolve(Buffer.from(page)));
  private readonly style = asset('text/css; charset=utf-8', 'swagger-ui.css');
  private readonly script = asset('text/javascript; charset=utf-8', 'swagger-ui-bundle.js');

  constructor(private readonly unauthenticated: UnauthenticatedShare) {}

  @Get('openapi.json')
  openApi(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.show(this.openApiDocument, request, reply);
  }

  @Get('docs')
  @Header('content-security-policy', policy)
  docs(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.show(this.page, request, reply);
  }

  @Get('docs/swagger-ui.css')
  styleSheet(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.show(this.style, request, reply);
  }

  @Get('docs/swagger-ui-bundle.js')
  bundle(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.show(this.script, request, reply);
  }

  private show(document: PreparedDocument, request: FastifyRequest, reply: FastifyReply): Promise<Buffer | undefined> {
    return this.unauthenticated.run(request, () => document.answer(request, reply, cacheControl));
  }
}

/** On a thread: it takes 0.7 s of processor time. */
async function writeOpenApiDocument(): Promise<Buffer> {
  const pool = openThreadPool(__dirname, 'openapi.worker', { maxThreads: 1, niceIncrement });
  try {
    return Buffer.from((await pool.run(undefined)) as Uint8Array);
  } finally {
    await pool.destroy();
  }
}

function asset(contentType: string, name: string): PreparedDocument {
  return compressible(contentType, () => readFile(join(assets, name)));
}

function compressible(contentType: string, read: () => Promise<Buffer>): PreparedDocument {
  return new PreparedDocument(contentType, read, { gzip: async (plain) => compress(await plain()) });
}
