import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { parsePdf } from '../libs/documents/src/parse-pdf';

// Reads the PDF at FILE once per POST: with the product's parser, or only the text of each page with bare pdfjs-dist.

const read = process.env['READER'] === 'bare' ? readBare : parsePdf;

async function readBare(bytes: Buffer): Promise<void> {
  const { getDocument, VerbosityLevel } = await import('pdfjs-dist/legacy/build/pdf.mjs');
  const task = getDocument({ data: new Uint8Array(bytes), verbosity: VerbosityLevel.ERRORS });
  const pdf = await task.promise;
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    await page.getTextContent();
    page.cleanup();
  }
  await task.destroy();
}

async function serve(): Promise<void> {
  const bytes = await readFile(process.env['FILE'] ?? '');
  const server = createServer((_, response) => {
    read(bytes).then(
      () => response.end(),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stdout.write(`Listening at http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`);
  });
}

void serve();
