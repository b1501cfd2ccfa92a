import { Code, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Loaded } from '../parts/loaded';
import { Section } from '../parts/section';
import { bytesText } from './bytes-text';
import { maxTextBytes, type ShownFile, textQuery } from './queries';

/** Content of a file that is text, as it was uploaded: nothing in it is rendered. */
export function FileText({ file }: { file: ShownFile }) {
  const isShown = file.size !== null && file.size <= maxTextBytes;
  return (
    <Section title="Text">
      {isShown ? (
        <Content file={file} />
      ) : (
        <Text size="sm">The page shows texts of up to {bytesText(maxTextBytes)}.</Text>
      )}
    </Section>
  );
}

function Content({ file }: { file: ShownFile }) {
  const query = useQuery(textQuery(file));
  return (
    <Loaded query={query}>
      {(text) => (
        <Code
          block
          tabIndex={0}
          role="region"
          aria-label="Text of the file"
          mah="80dvh"
          style={{ whiteSpace: 'pre-wrap' }}
        >
          {text}
        </Code>
      )}
    </Loaded>
  );
}
