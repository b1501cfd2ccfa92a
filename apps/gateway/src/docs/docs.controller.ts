import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Controller, Get, Header, UseGuards } from '@nestjs/common';
import { allOperations } from '@parley/contracts/contracts';
import { openApiDocument } from './openapi';
import { Public } from '@parley/service/public';
import { RateLimitGuard } from '../rate-limits/rate-limit.guard';

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

@Controller()
@Public()
@UseGuards(RateLimitGuard)
export class DocsController {
  /** Generated on first use: it takes 0.2 s, which would delay each start. */
  private document?: string;

  @Get('openapi.json')
  @Header('content-type', 'application/json; charset=utf-8')
  openApi() {
    this.document ??= JSON.stringify(openApiDocument(allOperations));
    return this.document;
  }

  @Get('docs')
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', policy)
  docs() {
    return page;
  }

  @Get('docs/swagger-ui.css')
  @Header('content-type', 'text/css; charset=utf-8')
  style() {
    return asset('swagger-ui.css');
  }

  @Get('docs/swagger-ui-bundle.js')
  @Header('content-type', 'text/javascript; charset=utf-8')
  script() {
    return asset('swagger-ui-bundle.js');
  }
}

const assets = dirname(require.resolve('swagger-ui-dist/package.json'));

function asset(name: string): Promise<string> {
  return readFile(join(assets, name), 'utf8');
}
