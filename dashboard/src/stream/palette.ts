// A colour for each function: the one that follows from its name, so that it is the same at every visit, or the next one that no other
// function has. Failures are marked by shape too, so that nothing is told by colour alone.

const LIGHT = ["#3b6fd4", "#0f8f83", "#b9711a", "#8a5cc7", "#4f8a2f", "#c0567e", "#2a88a8", "#94731f", "#6a6fc0", "#a85a48"];
const DARK = ["#6f9bf0", "#3fb8a9", "#d9964a", "#ac85e0", "#7fb45c", "#dd82a3", "#56b3d1", "#bfa04c", "#9498e0", "#cf8876"];

/** The colour of a function that is new beside those that have the colours `taken`. */
export function chosenColour(name: string, taken: readonly number[]): number {
  const wanted = hash(name) % LIGHT.length;
  for (let i = 0; i < LIGHT.length; i += 1) {
    const colour = (wanted + i * 3) % LIGHT.length; // neighbours look alike
    if (!taken.includes(colour)) return colour;
  }
  return wanted;
}

/** FNV-1a over the name's UTF-16 units. */
function hash(name: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < name.length; i += 1) value = Math.imul(value ^ name.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

export function paletteColour(colour: number, dark: boolean): string {
  return (dark ? DARK : LIGHT)[colour % LIGHT.length] as string;
}
