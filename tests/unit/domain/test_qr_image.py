import os
import random
import string
import subprocess
import sys
from io import BytesIO
from statistics import median
from time import process_time
from uuid import UUID

import pytest
import zxingcpp
from PIL import Image
from qrcode import QRCode, util
from qrcode.constants import ERROR_CORRECT_M, ERROR_CORRECT_Q

from bpc_worker.core.base.hashing import sha256, sha256_hex
from bpc_worker.core.passport.qr_mask import penalty
from bpc_worker.core.passport.qr_text import QrCapacityError, gs1_digital_link, qr_text
from bpc_worker.domain.qr_image import QrMatrix, qr_matrix, qr_png, qr_size

BPC1_TEXT = qr_text(
    passport_version_id=UUID("6f1c7a52-0c5e-5d0b-9a51-3f0f6f0c1e77"),
    payload_hash=sha256(b"payload"),
    proof_root_hash=sha256(b"proof"),
    receipt_hash=sha256(b"receipt"),
)
LINK = gs1_digital_link("https://id.example.eu", gtin="9506000134352", serial="BAT-2027/0001")
PRINTABLE = string.ascii_letters + string.digits + "|=/:.-é€"
LETTERS = string.ascii_uppercase + string.digits + " $%*+-./:"
LARGEST_BYTES = 2331  # 40-M

random_texts = [
    "".join(dice.choices(characters, k=length))
    for seed in range(70)
    for dice in [random.Random(seed)]
    for characters, length in [
        (PRINTABLE, dice.randint(1, 90)),
        (LETTERS, dice.randint(1, 120)),
        (string.digits, dice.randint(1, 200)),
    ]
]


def random_bpc1_text(seed: int) -> str:
    dice = random.Random(seed)
    return qr_text(
        passport_version_id=UUID(bytes=dice.randbytes(16)),
        payload_hash=dice.randbytes(32),
        proof_root_hash=dice.randbytes(32),
        receipt_hash=dice.randbytes(32),
    )


def qrcode_of(text: str, mask: int | None = None, level: int = ERROR_CORRECT_M) -> QRCode:
    code = QRCode(error_correction=level, border=0, mask_pattern=mask)
    code.add_data(text, optimize=0)
    code.make(fit=True)
    return code


def as_matrix(code: QRCode, mask: int) -> QrMatrix:
    modules: list[list[bool]] = code.get_matrix()
    number = int("".join("01"[module] for row in modules for module in row), 2)
    return QrMatrix(size=len(modules), mask=mask, modules=number)


def image_of(text: str) -> Image.Image:
    return Image.open(BytesIO(qr_png(text)))


def version_of(matrix: QrMatrix) -> int:
    return (matrix.size - 17) // 4


@pytest.mark.parametrize("text", [BPC1_TEXT, LINK, "é €"], ids=["bpc1", "link", "utf-8"])
@pytest.mark.parametrize("background", ["white", "black"])
def test_a_reader_finds_the_text_on_any_background(text: str, background: str) -> None:
    """On black only the drawn quiet zone tells the code from its surroundings."""
    code = image_of(text)
    label = Image.new("L", (code.width + 300, code.height + 300), background)
    label.paste(code, (150, 150))

    [found] = zxingcpp.read_barcodes(label, try_invert=False)

    assert found.text == text
    assert found.format == zxingcpp.BarcodeFormat.QRCode
    assert found.ec_level == "M"


@pytest.mark.parametrize("text", [BPC1_TEXT, LINK], ids=["bpc1", "link"])
def test_four_light_modules_surround_the_code_pixel_by_pixel(text: str) -> None:
    image, quiet = image_of(text), 40
    inner = (quiet, quiet, image.width - quiet, image.height - quiet)
    outside = {
        image.getpixel((x, y))
        for x in range(image.width)
        for y in range(image.height)
        if not (quiet <= x < image.width - quiet and quiet <= y < image.height - quiet)
    }

    assert outside == {255}
    assert image.convert("L").point(lambda value: 255 - value).getbbox() == inner


@pytest.mark.parametrize("text", [BPC1_TEXT, LINK], ids=["bpc1", "link"])
def test_each_module_is_a_square_of_ten_pixels(text: str) -> None:
    image, matrix = image_of(text), qr_matrix(text)

    for i, row in enumerate(matrix.rows):
        for j, module in enumerate(f"{row:0{matrix.size}b}"):
            corner = (40 + 10 * j, 40 + 10 * i)
            box = image.crop((*corner, corner[0] + 10, corner[1] + 10))
            assert box.getextrema() == ((0, 0) if module == "1" else (255, 255)), corner


def test_the_png_of_a_passport_has_one_bit_a_pixel_and_is_650_wide_at_300_dpi() -> None:
    image = image_of(BPC1_TEXT)

    assert image.format == "PNG"
    assert image.mode == "1"
    assert image.size == (650, 650)
    assert image.info["dpi"] == pytest.approx((300, 300), abs=0.01)
    assert qr_png(BPC1_TEXT)[24:26] == bytes([1, 0])  # IHDR: bit depth 1, greyscale


def test_every_passport_text_fits_into_version_10() -> None:
    assert {version_of(qr_matrix(random_bpc1_text(seed))) for seed in range(20)} == {10}


def test_rows_read_from_the_top_left() -> None:
    matrix = qr_matrix(LINK)
    finder = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]

    assert [f"{row:0{matrix.size}b}"[:7] for row in matrix.rows[:7]] == finder
    assert int("".join(f"{row:0{matrix.size}b}" for row in matrix.rows), 2) == matrix.modules


def test_random_texts_get_the_mask_and_the_modules_of_qrcode() -> None:
    texts = random_texts + [random_bpc1_text(seed) for seed in range(30)]
    masks = set()
    for text in texts:
        best = qrcode_of(text, mask=0).best_mask_pattern()
        masks.add(best)

        assert qr_matrix(text) == as_matrix(qrcode_of(text, mask=best), best), text

    assert len(texts) >= 200
    assert masks == set(range(8))


def test_texts_of_level_q_get_the_mask_and_the_modules_of_qrcode() -> None:
    for text in random_texts[::3]:
        best = qrcode_of(text, mask=0, level=ERROR_CORRECT_Q).best_mask_pattern()
        expected = as_matrix(qrcode_of(text, mask=best, level=ERROR_CORRECT_Q), best)

        assert qr_matrix(text, "Q") == expected, text
        assert qr_size(text, "Q") == expected.size


@pytest.mark.parametrize("text", ["1", "A" * 20, LINK, "a" * 120, BPC1_TEXT, "7" * 1200, "ab" * 700])
def test_each_mask_gets_the_penalty_of_qrcode(text: str) -> None:
    code = qrcode_of(text, mask=0)
    scores = []
    for mask in range(8):
        code.makeImpl(True, mask)
        scores.append(util.lost_point(code.modules))

        assert penalty(as_matrix(code, mask).modules, code.modules_count) == scores[-1]

    assert qr_matrix(text).mask == scores.index(min(scores))


@pytest.mark.parametrize("version", range(1, 41))
def test_a_code_that_is_full_equals_that_of_qrcode_in_every_version(version: int) -> None:
    """Fixed patterns, order of data and the smallest version come from knowledge of qrcode's inside."""
    length_bits = 8 if version < 10 else 16
    full = (util.BIT_LIMIT_TABLE[ERROR_CORRECT_M][version] - 4 - length_bits) // 8
    text = "".join(random.Random(version).choices(string.ascii_lowercase, k=full))

    matrix = qr_matrix(text)

    assert version_of(matrix) == version
    assert matrix == as_matrix(qrcode_of(text, mask=matrix.mask), matrix.mask)
    if version < 40:
        assert version_of(qr_matrix(text + "x")) == version + 1


@pytest.mark.parametrize(("characters", "most"), [("7", 5596), ("A", 3391), ("a", LARGEST_BYTES)])
def test_a_text_beyond_version_40_is_refused(characters: str, most: int) -> None:
    assert version_of(qr_matrix(characters * most)) == 40
    with pytest.raises(QrCapacityError, match=f"^{most + 1} bytes take .* holds 18672$"):
        qr_matrix(characters * (most + 1))


def test_level_q_holds_less() -> None:
    assert version_of(qr_matrix("a" * 1663, "Q")) == 40
    with pytest.raises(QrCapacityError, match=r"the largest QR code of level Q holds 13328$"):
        qr_matrix("a" * 1664, "Q")


def test_a_text_of_megabytes_is_refused_like_any_other() -> None:
    with pytest.raises(QrCapacityError, match=r"^5000000 bytes take 40000020 bits; "):
        qr_png("a" * 5_000_000)


def test_an_image_takes_less_than_half_of_the_time_of_qrcode() -> None:
    """In turns and by the median, so that a busy machine slows both; tests/bench/bench_qr.py says more."""
    ours, theirs = [], []
    for seed in range(5):
        text = random_bpc1_text(seed)
        started = process_time()
        qr_png(text)
        between = process_time()
        qrcode_of(text).make_image()
        ours.append(between - started)
        theirs.append(process_time() - between)

    assert median(ours) <= 0.45 * median(theirs)


def test_two_processes_make_the_same_code() -> None:
    program = "import sys; from bpc_worker.domain.qr_image import *; print(qr_matrix(sys.argv[1]).modules)"
    codes = {
        subprocess.run(
            [sys.executable, "-c", program, BPC1_TEXT],
            check=True,
            capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }

    assert codes == {f"{qr_matrix(BPC1_TEXT).modules}\n".encode()}


def test_the_code_of_a_passport_stays_the_same_for_ever() -> None:
    """Also where qrcode and this package would change together, as in how a text is encoded."""
    matrix = qr_matrix(BPC1_TEXT)
    expected = "4c80fbd8f8e141a14ee9e206dd2de924460c8f05ffab948acbd96340db56a1ad"

    assert matrix.mask == 7
    assert sha256_hex(f"{matrix.modules:x}".encode()) == expected
