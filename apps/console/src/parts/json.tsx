import { Code } from '@mantine/core';

/** Value as indented JSON, which is text: nothing in it is rendered. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    <Code block tabIndex={0} role="region" aria-label={label} mah={400}>
      {JSON.stringify(value, null, 2)}
    </Code>
  );
}
