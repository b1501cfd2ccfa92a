import { attributeOf, type HtmlElement } from './html-tree';

const longestTarget = 200;
/** Texts of links that say nothing about their target, in the languages most used on the web. */
const unnamed = new RegExp(
  `^(?:${[
    '(?:(?:please )?(?:click|tap|press|see|look|go|read|view|download|find|learn|follow|check)(?: it| this| out)? )?(?:here|this|more|link)',
    '(?:this|the) (?:link|page|website|site)|(?:read|learn|find out|see|show|view|know) more|more (?:info|information|details)',
    'link|click|continue|details|download|open|page|source|url|view|visit|web|website|continue reading|read on',
    '(?:klick(?:e|en sie)? )?hier(?: klicken)?|(?:mehr|weitere)(?: (?:infos?|informationen|erfahren|lesen|dazu))?|weiter(?:lesen)?|zur seite',
    '(?:cliquez )?ici|(?:en )?(?:savoir|lire) (?:plus|la suite)|la suite|plus|lien|voir|télécharger',
    '(?:(?:haga|haz) )?(?:clic |click )?aquí|(?:leer|ver|saber) más|más|enlace|descargar',
    '(?:clicca )?qui|(?:leggi |scopri )?(?:di più|altro|tutto)|continua(?: a leggere)?|scarica',
    '(?:clique )?aqui|(?:leia|saiba|ver) mais|mais|baixar',
    '(?:klik )?hier|(?:lees )?meer|(?:klicka )?här|(?:läs )?mer|(?:klik )?her|(?:læs )?mere',
    '(?:kliknij )?tutaj|tu|więcej|(?:czytaj|zobacz) (?:więcej|dalej)|zde|více|(?:tıklayın|buraya|burada|devamı)',
    '(?:нажмите )?(?:здесь|сюда|тут)|подробнее|далее|ещё|ссылка|скачать|(?:натисніть )?тут|детальніше',
    'こちら|ここ|詳細|詳しくはこちら|続きを読む|もっと見る|点击这里|点击此处|这里|此处|更多|查看更多|阅读更多|點擊這裡|這裡|여기|더 보기|자세히',
    'هنا|اضغط هنا|المزيد',
  ].join('|')})[\\s.…»›>→:!]*$`,
  'iu',
);
const longestName = 60;

/** Whether the text of a link is a word such as "here", so that its target belongs to the text. */
export function isUnnamed(text: string): boolean {
  const name = text.replace(/[\s[\]()]+/g, ' ').trim();
  return name.length <= longestName && unnamed.test(name);
}

/** Target of a link as it is shown: nothing for places in the page and scripts, addresses without their scheme. */
export function linkTarget(element: HtmlElement): string | undefined {
  const target = attributeOf(element, 'href')?.replace(/\s+/g, ' ').trim();
  if (!target || target.startsWith('#') || /^(?:javascript|data|blob|about):/i.test(target)) return undefined;
  const address = /^(?:mailto|tel):([^?]*)/i.exec(target)?.[1] ?? target;
  const shown = address.length > longestTarget ? address.replace(/[?#].*$/, '') : address;
  return shown.length > longestTarget ? undefined : shown;
}
