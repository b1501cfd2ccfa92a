/** Letters beyond ASCII of each language that is written in one of the old encodings, lower case, with common guests. */
const alphabets = {
  Latin: [
    'äöüßé',
    'àâçéèêëîïôœùûüÿ',
    'áéíñóúüçª',
    'ãáàâçéêíõóôúüªº',
    'àèéìòùîª',
    'åäöéüàáøæ',
    'æøåéòôóüäö',
    'áéíóúýþðæö',
    'ëïéèöüáóê',
    'àçèéíïòóúüñ',
    'ąćęłńóśźż',
    'áčďéěíňóřšťúůýžöü',
    'áäčďéíĺľňóôŕšťúýžö',
    'áéíóöőúüű',
    'ăâîşţșț',
    'čćđšžéü',
    'ëç',
    'ąčęėįšųūž',
    'āčēģīķļņšūžōŗ',
    'äõöüšžé',
    'çğıöşüâîûi̇é',
    'ĉĝĥĵŝŭ',
    'ċġħżàèìòù',
    'ŵŷâêîôûäëïöüáéàèìòù',
    'ăâđêôơưàảãáạèẻẽéẹìỉĩíịòỏõóọùủũúụỳỷỹýỵ',
    'čđŋšŧžáæøåäö',
    'ñáéíóúüïçàèòâêîôû',
  ],
  Cyrillic: [
    'абвгдеёжзийклмнопрстуфхцчшщъыьэюя',
    'абвгґдеєжзиіїйклмнопрстуфхцчшщьюя',
    'абвгдежзийклмнопрстуфхцчшщъьюя',
    'абвгдђежзијклљмнњопрстћуфхцчџш',
    'абвгдѓежзѕијклљмнњопрстќуфхцчџш',
    'абвгдеёжзійклмнопрстуўфхцчшыьэюя',
  ],
  Greek: ['αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ'],
};

export type Alphabet = keyof typeof alphabets;

const letters = Object.entries(alphabets).map(([script, sets]) => [script, sets.map((set) => new Set(set))] as const);
const setsOf = new Map<string, Set<string>[]>(letters);

/** Number of letters, counted by `counts`, that no single language of the script has together. */
export function lettersOutsideAlphabets(script: string, counts: ReadonlyMap<string, number>): number {
  const sets = setsOf.get(script);
  if (!sets) return 0;
  let fewest = Infinity;
  for (const set of sets) {
    let outside = 0;
    for (const [letter, count] of counts) if (!set.has(letter)) outside += count;
    fewest = Math.min(fewest, outside);
  }
  return fewest;
}
