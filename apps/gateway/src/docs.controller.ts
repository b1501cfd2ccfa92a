import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Controller, Get, Header } from '@nestjs/common';
import { allOperations } from '@parley/contracts/contracts';
import { openApiDocument } from './openapi';

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
    <script>SwaggerUIBundle({ url: '/openapi.json', dom_id: '#docs', deepLinking: true })</script>
  </body>
</html>
`;

/** The API's documentation, made from the contracts. */
@Controller()
export class DocsController {
  private readonly document = openApiDocument(allOperations);

  @Get('openapi.json')
  openApi() {
    return this.document;
  }

  @Get('docs')
  @Header('content-type', 'text/html; charset=utf-8')
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
