import { Matches } from 'class-validator';

export function IsMediaType(): PropertyDecorator {
  return Matches(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *;[ -~]*)?$/, {
    message: '$property must be a media type such as text/plain',
  });
}
