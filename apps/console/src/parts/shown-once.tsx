import { Alert, Button, Code, CopyButton, Group, Text } from '@mantine/core';

/** Secret value that the platform returns once. */
export function ShownOnce({ label, value, onClose }: { label: string; value: string; onClose: () => void }) {
  return (
    <Alert title={label}>
      <Text size="sm">Copy it now: it is not shown again.</Text>
      <Code block my="xs" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
        {value}
      </Code>
      <Group gap="xs">
        <CopyButton value={value}>
          {({ copied, copy }) => (
            <Button size="compact-sm" onClick={copy}>
              {copied ? 'Copied' : 'Copy'}
            </Button>
          )}
        </CopyButton>
        <Button size="compact-sm" variant="default" onClick={onClose}>
          Done
        </Button>
      </Group>
    </Alert>
  );
}
