import { choice, Env, integer, text } from '@parley/config/config';
import { FileStoreConfig } from '../../files/src/store/config';

export class FilesWorkerConfig extends FileStoreConfig {
  /** Attempts after which a file becomes `indexing_failed`. Tests choose another number. */
  indexingAttempts = 10;

  /** Interval of the heartbeats of a worker that indexes a file. Tests choose another. */
  heartbeatMs = 2_500;

  @Env({
    env: 'OCR',
    type: choice('off', 'asked', 'auto'),
    about:
      'Text recognition in pages of PDF files without text, and in pictures: `asked` for files with `parsing.ocr: true`, `auto` ' +
      'for these and for all files without text but those with `parsing.ocr: false`, `off` for none.',
  })
  ocr: 'off' | 'asked' | 'auto' = 'asked';

  @Env({
    env: 'OCR_LANGUAGES',
    type: text('names of languages of tesseract, joined by +', /^[A-Za-z]\w*(?:\+[A-Za-z]\w*)*$/),
    about:
      'Languages of OCR, such as `eng+deu`, the most frequent one first. Data of `eng` come with the packages. Each takes time and memory.',
  })
  ocrLanguages = 'eng';

  @Env({
    env: 'OCR_DATA_FOLDER',
    type: text('the path of a folder'),
    about: 'Folder of `<language>.traineddata` or `<language>.traineddata.gz` for the `OCR_LANGUAGES`.',
    optional: true,
  })
  ocrDataFolder?: string;

  @Env({
    env: 'OCR_READERS',
    type: integer(1, 16),
    about: 'Files that a process reads by OCR at the same time, each in up to 432 MiB.',
    need: 'rarely',
  })
  ocrReaders = 1;
}
