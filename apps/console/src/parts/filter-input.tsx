import { TextInput, type TextInputProps } from '@mantine/core';

interface Props extends Pick<TextInputProps, 'label' | 'description'> {
  value?: string;
  onApply: (text: string | undefined) => void;
}

/** Text that filters a list when the reader presses Enter or leaves the field; undefined for an empty one. */
export function FilterInput({ label, description, value, onApply }: Props) {
  const apply = (text: string) => onApply(text.trim() || undefined);
  return (
    <TextInput
      label={label}
      description={description}
      defaultValue={value ?? ''}
      onBlur={(event) => apply(event.currentTarget.value)}
      onKeyDown={(event) => event.key === 'Enter' && apply(event.currentTarget.value)}
      miw={240}
    />
  );
}
