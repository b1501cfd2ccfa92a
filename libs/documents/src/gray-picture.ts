/** One byte a pixel, rows from the top. */
export interface GrayPicture {
  width: number;
  height: number;
  pixels: Uint8Array;
}

/** Difference of brightness by which a speck stands out. Strokes and edges of letters have equals beside them. */
const speckContrast = 96;
/** Share of specks above which a picture counts as noisy; clean pages have hardly any. */
const noisyShare = 0.002;
const leastContrast = 32;

/** @param rgba opaque pixels of a canvas */
export function grayOf(rgba: Uint8Array, width: number, height: number): GrayPicture {
  const pixels = new Uint8Array(width * height);
  for (let i = 0, from = 0; i < pixels.length; i++, from += 4) {
    pixels[i] = (rgba[from]! * 77 + rgba[from + 1]! * 150 + rgba[from + 2]! * 29) >> 8;
  }
  return { width, height, pixels };
}

export function isBlank({ pixels }: GrayPicture): boolean {
  let darkest = 255;
  let lightest = 0;
  for (const pixel of pixels) {
    if (pixel < darkest) darkest = pixel;
    if (pixel > lightest) lightest = pixel;
  }
  return lightest - darkest < leastContrast;
}

/** Portable graymap, after the median of nine pixels where the picture is noisy: specks make words unreadable. */
export function graymapOf(picture: GrayPicture): Uint8Array {
  const { width, height, pixels } = isNoisy(picture) ? withoutSpecks(picture) : picture;
  const header = Buffer.from(`P5 ${width} ${height} 255\n`);
  return Buffer.concat([header, pixels]);
}

function isNoisy({ width, height, pixels }: GrayPicture): boolean {
  let specks = 0;
  for (let y = 1; y < height - 1; y++) {
    for (let i = y * width + 1, end = (y + 1) * width - 1; i < end; i++) {
      const pixel = pixels[i]!;
      if (
        Math.abs(pixel - pixels[i - 1]!) > speckContrast &&
        Math.abs(pixel - pixels[i + 1]!) > speckContrast &&
        Math.abs(pixel - pixels[i - width]!) > speckContrast &&
        Math.abs(pixel - pixels[i + width]!) > speckContrast
      )
        specks++;
    }
  }
  return specks > noisyShare * pixels.length;
}

function withoutSpecks({ width, height, pixels }: GrayPicture): GrayPicture {
  const smooth = Uint8Array.from(pixels);
  const sorted = new Uint8Array(9);
  for (let y = 1; y < height - 1; y++) {
    for (let i = y * width + 1, end = (y + 1) * width - 1; i < end; i++) {
      let count = 0;
      for (let row = i - width; row <= i + width; row += width) {
        for (let at = row - 1; at <= row + 1; at++) {
          const pixel = pixels[at]!;
          let place = count++;
          for (; place > 0 && sorted[place - 1]! > pixel; place--) sorted[place] = sorted[place - 1]!;
          sorted[place] = pixel;
        }
      }
      smooth[i] = sorted[4]!;
    }
  }
  return { width, height, pixels: smooth };
}
