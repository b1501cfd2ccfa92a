import { NativeSelect, Textarea, TextInput } from '@mantine/core';
import type { ShownColumn } from './columns';

interface Props {
  column: ShownColumn;
  label?: string;
  /** Name of an editor that has no visible label. */
  'aria-label'?: string;
  text: string;
  error?: string;
  description?: string;
  isMultiline?: boolean;
  isFocused?: boolean;
  onChange: (text: string) => void;
}

/** Editor for a value of the column. */
export function ValueInput({ column: { kind, choices }, text, isMultiline, isFocused, onChange, ...labels }: Props) {
  const field = {
    ...labels,
    errorProps: { role: 'alert' },
    value: text,
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
    'data-autofocus': isFocused || undefined,
  };
  switch (kind) {
    case 'boolean':
      return (
        <NativeSelect
          {...field}
          data={[
            { value: '', label: '–' },
            { value: 'true', label: 'true' },
            { value: 'false', label: 'false' },
          ]}
        />
      );
    case 'number':
      return <TextInput {...field} inputMode="decimal" />;
    case 'date':
      return <TextInput {...field} type="datetime-local" step={1} />;
    case 'json':
      return <Textarea {...field} autosize maxRows={12} styles={{ input: { fontFamily: 'monospace' } }} />;
    case 'text':
      if (choices) return <NativeSelect {...field} data={[{ value: '', label: '–' }, ...choices]} />;
      return isMultiline ? <Textarea {...field} autosize maxRows={12} /> : <TextInput {...field} />;
  }
}
