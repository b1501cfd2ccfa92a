import { ApiError } from '@parley/contracts/errors';
import type { IndexingConfiguration, PageChoice } from '@parley/contracts/indexing-options';

export function refuseModelFields({ parsing, summarization, vision }: IndexingConfiguration): void {
  const fields = [
    parsing?.mode === 'agent' && 'parsing.mode: agent',
    parsing?.smartCleanup && 'parsing.smartCleanup',
    summarization?.enable && 'summarization.enable',
    asksForPages(vision?.transcribePages) && 'vision.transcribePages',
    asksForPages(vision?.indexPages) && 'vision.indexPages',
  ].filter((field) => typeof field === 'string');
  if (fields.length === 0) return;
  const names = fields.map((field) => `indexing.configuration.${field}`).join(', ');
  const [need, them] = fields.length === 1 ? ['needs', 'it'] : ['need', 'them'];
  throw new ApiError('InvalidPayload', `${names} ${need} a model server: set COMPLETIONS_URL, or leave ${them} out.`);
}

function asksForPages(pages: PageChoice = false): boolean {
  return Array.isArray(pages) ? pages.length > 0 : pages === true;
}
