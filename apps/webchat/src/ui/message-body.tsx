import { useState } from 'preact/hooks';
import type { Payload } from '../chat-api';
import { safeUrl } from '../safe-url';
import { filled } from '../texts/texts';
import { useWidget } from './context';
import { Formatted } from './formatted';

type CardPayload = Extract<Payload, { type: 'card' }>;
type LocationPayload = Extract<Payload, { type: 'location' }>;
interface Option {
  label: string;
  value: string;
}

/** Options that are shown at first: a bot may send a thousand. */
const shownOptions = 20;

/** Content of a message of any type. Addresses that are none of the web are shown as nothing. */
export function MessageBody({ payload }: { payload: Payload }) {
  const { texts } = useWidget();
  switch (payload.type) {
    case 'text':
      return <Formatted text={payload.text} />;
    case 'markdown':
      return <Formatted text={payload.markdown} />;
    case 'image':
      return <img class="media" src={safeUrl(payload.imageUrl)} alt="" loading="lazy" />;
    case 'audio':
      return <audio class="media" src={safeUrl(payload.audioUrl)} controls preload="none" />;
    case 'video':
      return <video class="media" src={safeUrl(payload.videoUrl)} controls preload="metadata" />;
    case 'file':
      return <Outside url={payload.fileUrl}>{payload.title ?? texts.file}</Outside>;
    case 'location':
      return <Location {...payload} />;
    case 'card':
      return <Card {...payload} />;
    case 'carousel':
      return (
        <ul class="carousel">
          {payload.items.map((item, index) => (
            <li key={index}>
              <Card {...item} />
            </li>
          ))}
        </ul>
      );
    case 'choice':
      return (
        <>
          <Formatted text={payload.text} />
          <Options options={payload.options} />
        </>
      );
    case 'dropdown':
      return (
        <>
          <Formatted text={payload.text} />
          <Dropdown options={payload.options} />
        </>
      );
    case 'bloc':
      return (
        <div class="bloc">
          {payload.items.map((item, index) => (
            <MessageBody key={index} payload={item} />
          ))}
        </div>
      );
    default:
      return <em>{texts.unknownMessage}</em>;
  }
}

function Outside({ url, children }: { url: string; children: string }) {
  const { texts } = useWidget();
  const href = safeUrl(url);
  if (!href) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={texts.openLink}>
      {children}
    </a>
  );
}

function Location({ title, address, latitude, longitude }: LocationPayload) {
  const { texts } = useWidget();
  const map = `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`;
  return (
    <div class="bloc">
      {title && <strong>{title}</strong>}
      {address && <span>{address}</span>}
      <Outside url={map}>{texts.map}</Outside>
    </div>
  );
}

function Card({ title, subtitle, imageUrl, actions }: CardPayload) {
  const { send } = useWidget();
  return (
    <div class="card">
      {imageUrl && <img src={safeUrl(imageUrl)} alt="" loading="lazy" />}
      <strong>{title}</strong>
      {subtitle && <span>{subtitle}</span>}
      {actions.map(({ action, label, value }, index) =>
        action === 'url' ? (
          <Outside key={index} url={value}>
            {label}
          </Outside>
        ) : (
          <button key={index} type="button" class="option" onClick={() => send(value, label)}>
            {label}
          </button>
        ),
      )}
    </div>
  );
}

export function Options({ options }: { options: readonly Option[] }) {
  const { texts, send } = useWidget();
  const [isWhole, setWhole] = useState(options.length <= shownOptions);
  return (
    <div class="options">
      {(isWhole ? options : options.slice(0, shownOptions)).map(({ label, value }, index) => (
        <button key={index} type="button" class="option" onClick={() => send(value, label)}>
          {label}
        </button>
      ))}
      {!isWhole && (
        <button type="button" class="link" onClick={() => setWhole(true)}>
          {filled(texts.showAll, { count: options.length })}
        </button>
      )}
    </div>
  );
}

function Dropdown({ options }: { options: readonly Option[] }) {
  const { texts, send } = useWidget();
  const choose = (index: number) => {
    const chosen = options[index];
    if (chosen) send(chosen.value, chosen.label);
  };
  return (
    <select aria-label={texts.choose} value="" onChange={(event) => choose(Number(event.currentTarget.value))}>
      <option value="" disabled>
        {texts.choose}
      </option>
      {options.map(({ label }, index) => (
        <option key={index} value={index}>
          {label}
        </option>
      ))}
    </select>
  );
}
